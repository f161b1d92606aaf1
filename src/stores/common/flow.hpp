// stores/common/flow.hpp: work that waits for a client in several places, as one function.
//
// A flow starts at once, continues on the thread that brings what it waits for, and frees itself.
// If memory runs out, it ends where it is, and its tickets are answered at their deadlines.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>

namespace holdfast::stores {

struct Flow {
  bool begun = true;  // false: no memory

  struct promise_type {
    static void* operator new(std::size_t size) noexcept {
      return ::operator new(size, std::nothrow);
    }
    static void operator delete(void* frame) noexcept { ::operator delete(frame); }
    static Flow get_return_object_on_allocation_failure() noexcept { return {false}; }
    Flow get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept {
      try {
        throw;
      } catch (const std::bad_alloc&) {
      } catch (...) {
        std::terminate();
      }
    }
  };
};

}  // namespace holdfast::stores
