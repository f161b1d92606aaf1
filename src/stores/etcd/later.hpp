// stores/etcd/later.hpp: an answer that comes later, from another thread.
//
//   Pledge<Granted> promise;
//   Later<Granted> granted = promise.later();     // the work that it stands for has begun already
//   Granted answer = co_await granted;            // once
//
//   Later<Granted> ask_twice() { …; co_return answer; }   // or a coroutine, which begins at once
//
// The first answer counts. A pledge that nobody keeps is answered with unkept<R>().
#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "holdfast/backend.hpp"

namespace holdfast::stores::etcd {

// The answer if nobody knows what became of it.
template <class R>
R unkept() {
  R value{};
  if constexpr (std::is_same_v<R, Answer>) {
    value.said = Said::unknown;
    value.problem = {Errc::unavailable, "resource", "out of memory"};
  }
  return value;
}

template <class R>
class Pledge;

template <class R>
class Later {
 public:
  struct promise_type;

  bool await_ready() const noexcept { return state_->awaits.load() == State::answered(); }
  bool await_suspend(std::coroutine_handle<> waiter) noexcept {
    void* nobody = nullptr;
    return state_->awaits.compare_exchange_strong(nobody, waiter.address());
  }
  R await_resume() noexcept { return std::move(state_->value); }

 private:
  friend class Pledge<R>;
  struct State {
    static void* answered() noexcept {
      static char mark;
      return &mark;
    }
    ~State() = default;

    R value = unkept<R>();
    std::atomic<bool> taken{false};
    std::atomic<void*> awaits{nullptr};  // the coroutine, or the mark above
  };
  explicit Later(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

template <class R>
class Pledge {
 public:
  Pledge() : kept_(std::make_shared<Kept>()) {}
  Later<R> later() const noexcept { return Later<R>(kept_->state); }
  void answer(R value) const noexcept { kept_->answer(std::move(value)); }

 private:
  using State = typename Later<R>::State;
  // All copies of the pledge share this; its state is also shared with the waiter.
  struct Kept {
    Kept() : state(std::make_shared<State>()) {}
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() {
      hand_over([](R&) {});
    }
    void answer(R value) noexcept {
      hand_over([&](R& kept) { kept = std::move(value); });
    }
    template <class Fill>
    void hand_over(Fill fill) noexcept {
      if (state->taken.exchange(true)) return;
      const auto keep = state;  // the waiter may destroy this pledge
      fill(keep->value);
      void* waiter = keep->awaits.exchange(State::answered());
      if (waiter) std::coroutine_handle<>::from_address(waiter).resume();
    }
    const std::shared_ptr<State> state;
  };
  std::shared_ptr<Kept> kept_;
};

// The waiter continues only after the coroutine's locals are gone, its turn for example. If memory
// runs out, the coroutine ends where it is.
template <class R>
struct Later<R>::promise_type {
  Later get_return_object() noexcept { return promise.later(); }
  std::suspend_never initial_suspend() noexcept { return {}; }
  std::suspend_never final_suspend() noexcept {
    promise.answer(std::move(value));
    return {};
  }
  void return_value(R answer) noexcept { value = std::move(answer); }
  void unhandled_exception() noexcept {
    try {
      throw;
    } catch (const std::bad_alloc&) {
    } catch (...) {
      std::terminate();
    }
  }

  Pledge<R> promise;
  R value = unkept<R>();
};

}  // namespace holdfast::stores::etcd
