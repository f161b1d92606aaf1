#include "runtime/forks.hpp"

#include <pthread.h>

namespace holdfast::detail {
namespace {

std::atomic<std::uint32_t> forks{0};

// From the beginning: a static of a function would be locked for ever in the child of a fork that
// comes while another thread makes it.
[[maybe_unused]] const int watched =
    ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint32_t fork_epoch() noexcept { return forks.load(std::memory_order_relaxed); }

}  // namespace holdfast::detail
