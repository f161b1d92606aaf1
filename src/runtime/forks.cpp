#include "runtime/forks.hpp"

#include <pthread.h>

namespace holdfast::detail {
namespace {

std::atomic<std::uint32_t> forks{0};

// Made at start-up: if another thread is making a function's static during a fork, it stays locked
// for ever in the child.
[[maybe_unused]] const int watched =
    ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint32_t fork_epoch() noexcept { return forks.load(std::memory_order_relaxed); }

}  // namespace holdfast::detail
