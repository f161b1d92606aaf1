// tests/support/many_leases.hpp: many locks of one store, held at once.
//
//   const ManyLeases held(store, 5000, {.ttl = 10s});
//   if (held.size() < 5000) …            // some could not be acquired
//   held.least_left();
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/holdfast.hpp"

namespace holdfast::support {

// Several threads acquire and release, because each call waits for the store.
class ManyLeases {
 public:
  ManyLeases(const Store& store, int count, const LockOptions& options) {
    by_threads([&](std::size_t thread) {
      for (int number = static_cast<int>(thread); number < count; number += threads)
        if (auto lease = store.lock("many/" + std::to_string(number), options).acquire())
          parts_[thread].push_back(std::move(*lease));
    });
  }
  ~ManyLeases() {
    by_threads([&](std::size_t thread) { parts_[thread].clear(); });
  }
  ManyLeases(const ManyLeases&) = delete;
  ManyLeases& operator=(const ManyLeases&) = delete;

  int size() const noexcept {
    std::size_t sum = 0;
    for (const auto& part : parts_) sum += part.size();
    return static_cast<int>(sum);
  }
  // Of the lease that ends first; 0 if one is lost.
  Millis least_left() const noexcept {
    Millis least = Millis::max();
    for (const auto& part : parts_)
      for (const Lease& lease : part) least = std::min(least, lease.left());
    return least;
  }

 private:
  static constexpr int threads = 20;
  template <class Work>
  static void by_threads(const Work& work) {
    std::array<std::jthread, threads> all;
    for (std::size_t thread = 0; thread < threads; ++thread)
      all[thread] = std::jthread([&, thread] { work(thread); });
  }

  std::array<std::vector<Lease>, threads> parts_;
};

}  // namespace holdfast::support
