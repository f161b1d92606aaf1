#include "runtime/forks.hpp"

#include <pthread.h>

namespace holdfast::detail {
namespace {

std::atomic<std::uint32_t> forks{0};

}  // namespace

std::uint32_t fork_epoch() noexcept {
  static const int watched =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(watched);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace holdfast::detail
