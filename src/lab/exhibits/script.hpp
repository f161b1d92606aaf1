// lab/exhibits/script.hpp: what a process does, written like the process's own program: a coroutine
// that is suspended where the process waits.
//
// Do not write co_await in the condition of an if or a loop: GCC 12 then puts that value before the
// frame's own first field, and the script resumes at the wrong place.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace holdfast::lab::exhibits {

class Script {
 public:
  struct promise_type {
    Script get_return_object() {
      return Script(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };

  Script(Script&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Script& operator=(Script&&) = delete;
  ~Script() {
    if (handle_) handle_.destroy();
  }

  std::coroutine_handle<> handle() const noexcept { return handle_; }

 private:
  explicit Script(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace holdfast::lab::exhibits
