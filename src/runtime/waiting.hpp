// A coroutine's node in a gate's line, and the storage for it in the public awaiter.
#pragma once

#include <coroutine>
#include <new>

#include "core/waiter.hpp"
#include "holdfast/lock.hpp"

namespace holdfast::detail {

class LiveGate;

struct AsyncWaiter : core::Waiter {
  std::coroutine_handle<> handle;
  LiveGate* gate = nullptr;

  static AsyncWaiter& in(WaiterRoom& room) noexcept {
    return *std::launder(reinterpret_cast<AsyncWaiter*>(room.bytes));
  }
};
static_assert(sizeof(AsyncWaiter) <= sizeof(WaiterRoom) &&
              alignof(AsyncWaiter) <= alignof(WaiterRoom));

}  // namespace holdfast::detail
