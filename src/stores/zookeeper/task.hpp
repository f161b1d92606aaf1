// stores/zookeeper/task.hpp: a part of a flow that returns a value: `co_await look(session)`. It
// starts when it is awaited; when it ends, its awaiter goes on.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace holdfast::stores::zookeeper {

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    struct Return {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<promise_type> ended) const noexcept {
        return ended.promise().awaiting;
      }
      void await_resume() const noexcept {}
    };
    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Return final_suspend() noexcept { return {}; }
    void return_value(T given) { value.emplace(std::move(given)); }
    void unhandled_exception() noexcept { failure = std::current_exception(); }

    std::coroutine_handle<> awaiting;
    std::optional<T> value;
    std::exception_ptr failure;
  };
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  Handle await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().awaiting = awaiting;
    return handle_;
  }
  T await_resume() {
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
    return std::move(*handle_.promise().value);
  }

 private:
  Handle handle_;
};

}  // namespace holdfast::stores::zookeeper
