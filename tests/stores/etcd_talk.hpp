// tests/stores/etcd_talk.hpp: the client of our etcd store, without a store, and what its watches
// hear. Tests move its time.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "stores/etcd_answers.hpp"
#include "support/own_clock.hpp"

namespace holdfast::stores::etcd {

class Talk final : private Watching {
 public:
  explicit Talk(const std::vector<std::string>& addresses)
      : client_(options(addresses), *this, [](BootTime) {}) {}
  ~Talk() { client_.close(); }
  Client* operator->() noexcept { return &client_; }

  // Its timers fire here, and nowhere else.
  void pass(Millis time) {
    support::jump(time);
    client_.tick(BootClock::now());
  }

  std::atomic<int> watches_opened = 0, changes_heard = 0, watches_closed = 0;

 private:
  static Options options(const std::vector<std::string>& addresses) {
    Options options;
    options.addresses = addresses;
    return options;
  }
  void opened(WatchId, std::int64_t) noexcept override { ++watches_opened; }
  void changed(WatchId, const Change&) noexcept override { ++changes_heard; }
  void closed(WatchId) noexcept override { ++watches_closed; }

  Client client_;
};

}  // namespace holdfast::stores::etcd
