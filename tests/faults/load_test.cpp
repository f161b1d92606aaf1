// The rows of docs/faults.md about load (L) that concern every store. Elsewhere: L01, L02, L05 and
// L09 in redis/load_test, L07 in resources_test, L10 in kinds_test.

#include <atomic>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "support/detached.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class LoadFaults : public Conformance {};
HOLDFAST_ON_EVERY_STORE(LoadFaults);

// The leases of one process.
class Hoard {
 public:
  Hoard(const Store& store, const std::string& name, int many) {
    for (int each = 0; each < many; ++each) take(store.lock(name + std::to_string(each)));
    EXPECT_TRUE(eventually([&] { return settled_ == many; }));
    EXPECT_EQ(std::ssize(leases_), many);
  }
  Millis left() const {
    const auto least = std::ranges::min_element(leases_, {}, &Lease::left);
    return least == leases_.end() ? 0ms : least->left();
  }
  bool valid() const { return std::ranges::all_of(leases_, &Lease::valid); }

 private:
  Detached take(Lock lock) {
    auto lease = co_await lock.acquire_async();
    if (lease) {
      const std::lock_guard guard(mutex_);
      leases_.push_back(std::move(*lease));
    }
    ++settled_;
  }
  std::mutex mutex_;
  std::vector<Lease> leases_;
  std::atomic<int> settled_{0};
};

// bench/redis/held_locks holds the full number of 100,000.
TEST_P(LoadFaults, L03ManyHeldLocksAreAllRenewedInTime) {
  const auto alice = world.client();
  const Hoard hoard(alice, name, scaled(1'000));
  for (int round = 0; round < 4; ++round) {  // Longer than the ttl.
    const auto before = hoard.left();
    jump(world.renewal_due());
    EXPECT_TRUE(eventually([&] {
      (void)alice.list("nobody");  // This thread helps to prove the session.
      return hoard.left() > before - world.renewal_due() / 2;
    }));
  }
  EXPECT_TRUE(hoard.valid());
  EXPECT_EQ(alice.stats().lost, 0U);
  EXPECT_TRUE(succeeded(alice.close(patient)));
  EXPECT_TRUE(eventually([&] { return world.client().list(name).value().empty(); }));
}

// What a lock protects. Atomic, because C++ does not see that the lock orders the threads.
struct Treasure {
  std::atomic<int> inside{0};
  std::atomic<int> visits{0};  // read and written back: an intruder would lose some
  std::atomic<std::uint64_t> token{0};
};

TEST_P(LoadFaults, L04AStormOfThreadsOnAFewLocks) {
  constexpr int threads = 64, locks = 16;
  const int rounds = scaled(40);
  const Store clients[] = {world.client(), world.client(), world.client(), world.client()};
  std::vector<Treasure> treasures(locks);
  std::atomic<int> intruders{0}, stale{0};
  {
    std::vector<std::jthread> storm;
    for (int thread = 0; thread < threads; ++thread) {
      storm.emplace_back([&, thread, store = clients[thread % 4]] {
        std::mt19937 chance(static_cast<unsigned>(thread));
        for (int round = 0; round < rounds; ++round) {
          const auto which = chance() % locks;
          const auto lease = store.lock(name + std::to_string(which)).acquire();
          ASSERT_TRUE(succeeded(lease));
          Treasure& treasure = treasures[which];
          if (treasure.inside++ != 0) ++intruders;
          const int visits = treasure.visits;
          std::this_thread::yield();
          treasure.visits = visits + 1;
          if (treasure.token.exchange(lease->token().value) >= lease->token().value) ++stale;
          --treasure.inside;
        }
      });
    }
  }
  int visits = 0;
  for (const Treasure& treasure : treasures) visits += treasure.visits;
  EXPECT_EQ(visits, threads * rounds);
  EXPECT_EQ(intruders, 0);
  EXPECT_EQ(stale, 0);
  for (const Store& client : clients) EXPECT_EQ(client.stats().lost, 0U);
  EXPECT_TRUE(eventually([&] { return world.client().list(name).value().empty(); }));
}

}  // namespace
}  // namespace holdfast
