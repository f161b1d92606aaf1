// tests/support/detached.hpp: the smallest coroutine: it starts at once, ends by itself and returns
// nothing. The benchmarks use it too.
#pragma once

#include <coroutine>
#include <exception>

namespace holdfast::support {

struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

}  // namespace holdfast::support
