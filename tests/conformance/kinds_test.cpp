// Goal: the rules of the kinds. Many readers or one writer; permits never exceed the capacity; one
// name has one kind and one capacity at a time.

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "support/peer.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Kinds : public Conformance {};
HOLDFAST_ON_EVERY_STORE(Kinds);

TEST_P(Kinds, ReadersShareAndExcludeAWriter) {
  HOLDFAST_NEEDS(rw);
  const auto alice = world.client();
  const auto bob = world.client();
  auto first = alice.rw_lock(name).read().acquire();
  auto second = bob.rw_lock(name).read().acquire();
  auto third = bob.rw_lock(name).read().try_acquire();
  ASSERT_TRUE(succeeded(first));
  ASSERT_TRUE(succeeded(second));
  ASSERT_TRUE(succeeded(third));
  EXPECT_TRUE(failed(alice.rw_lock(name).write().try_acquire(), Errc::busy));
  ASSERT_TRUE(succeeded(first->release()));
  ASSERT_TRUE(succeeded(second->release()));
  EXPECT_TRUE(failed(alice.rw_lock(name).write().try_acquire(), Errc::busy));
  ASSERT_TRUE(succeeded(third->release()));
  EXPECT_TRUE(succeeded(alice.rw_lock(name).write().try_acquire_for(patient)));
}

TEST_P(Kinds, AWriterExcludesAll) {
  HOLDFAST_NEEDS(rw);
  const auto alice = world.client();
  const auto bob = world.client();
  const auto writer = alice.rw_lock(name).write().acquire();
  ASSERT_TRUE(succeeded(writer));
  for (const auto& client : {alice, bob}) {
    EXPECT_TRUE(failed(client.rw_lock(name).read().try_acquire(), Errc::busy));
    EXPECT_TRUE(failed(client.rw_lock(name).write().try_acquire(), Errc::busy));
  }
}

// Readers count themselves in and out; a writer must find nobody.
TEST_P(Kinds, WritersAreAloneAmongReadersOfManyClients) {
  HOLDFAST_NEEDS(rw);
  std::atomic<int> readers = 0, writers = 0, meetings = 0, met_readers = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread, lock = world.client().rw_lock(name)] {
      for (int round = 0; round < scaled(150); ++round) {
        const bool writes = (round + thread) % 4 == 0;
        const auto lease = (writes ? lock.write() : lock.read()).acquire();
        ASSERT_TRUE(succeeded(lease));
        if (writes) {
          if (writers++ > 0 || readers > 0) ++meetings;
          std::this_thread::yield();
          if (readers > 0) ++meetings;
          --writers;
        } else {
          if (readers++ > 0) ++met_readers;
          if (writers > 0) ++meetings;
          std::this_thread::yield();
          --readers;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(meetings, 0);
  EXPECT_GT(met_readers, 0);  // Readers did share.
}

TEST_P(Kinds, AWriterIsNotStarvedByAFloodOfReaders) {
  HOLDFAST_NEEDS(rw);
  HOLDFAST_NEEDS(queues);
  const Store clients[] = {world.client(), world.client(), world.client()};
  std::atomic<bool> written = false;
  std::atomic<int> reads = 0;
  std::vector<std::jthread> flood;
  for (int thread = 0; thread < 6; ++thread) {
    flood.emplace_back([&, lock = clients[thread % 3].rw_lock(name).read()] {
      while (!written) {
        const auto lease = lock.acquire();
        if (lease) ++reads;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return reads > 30; }));
  for (int round = 0; round < 5; ++round) {  // Local to some of the readers, remote to the others.
    EXPECT_TRUE(succeeded(clients[round % 3].rw_lock(name).write().try_acquire_for(patient)));
  }
  written = true;
}

// While a writer waits in line, each client has at most two claims for readers: the one that they
// hold, and one that came before the writer. A claim passed on in its process keeps its number.
TEST_P(Kinds, L10ReadersThatCameLaterDoNotOvertakeAWriter) {
  HOLDFAST_NEEDS(rw);
  HOLDFAST_NEEDS(queues);
  HOLDFAST_NEEDS(tokens);
  constexpr std::uint64_t turns = 1024;
  const Store clients[] = {world.client(), world.client(), world.client()};
  std::mutex mutex;
  bool stands = false, written = false;
  std::set<std::uint64_t> grants;  // to readers while a writer waits
  std::atomic<bool> enough = false;
  std::vector<std::jthread> flood;
  for (int thread = 0; thread < 6; ++thread) {
    flood.emplace_back([&, lock = clients[thread % 3].rw_lock(name).read()] {
      while (!enough) {
        const auto lease = lock.acquire();
        const std::lock_guard guard(mutex);
        if (lease && stands && !written) grants.insert(lease->token().value / turns);
      }
    });
  }
  const auto observer = world.client();
  for (int round = 0; round < 5; ++round) {
    std::jthread writer([&, lock = world.client().rw_lock(name).write()] {
      const auto lease = lock.acquire();
      const std::lock_guard guard(mutex);
      written = lease.has_value();
    });
    const auto is_writer = [](const Holder& each) { return each.waits && each.weight > 1; };
    EXPECT_TRUE(eventually([&] {
      const bool seen = std::ranges::any_of(listed(observer, name), is_writer);
      const std::lock_guard guard(mutex);
      return written || (stands = seen);
    }));
    writer.join();
    const std::lock_guard guard(mutex);
    EXPECT_TRUE(written);
    EXPECT_LE(grants.size(), 2 * std::size(clients)) << "in round " << round;
    grants.clear();
    stands = written = false;
  }
  enough = true;
}

// A reader between two writers looks only at the one before it (kazoo #649).
TEST_P(Kinds, L10AReaderBetweenTwoWritersIsLetInBetween) {
  HOLDFAST_NEEDS(rw);
  HOLDFAST_NEEDS(queues);
  auto first = world.client().rw_lock(name).write().acquire();
  ASSERT_TRUE(succeeded(first));
  const auto observer = world.client();
  std::mutex mutex;
  std::string order;
  std::vector<std::jthread> waiters;
  const auto wait_as = [&](char who, const Lock& lock) {
    waiters.emplace_back([&, who, lock] {
      const auto lease = lock.acquire();
      const std::lock_guard guard(mutex);
      order += lease ? who : '-';
    });
    ASSERT_TRUE(eventually([&] { return waiting(observer, name) == std::ssize(waiters); }));
  };
  wait_as('r', world.client().rw_lock(name).read());
  wait_as('w', world.client().rw_lock(name).write());
  EXPECT_TRUE(succeeded(first->release()));
  waiters.clear();
  EXPECT_EQ(order, "rw");
}

TEST_P(Kinds, DowngradeLetsReadersInAndNoWriter) {
  HOLDFAST_NEEDS(rw);
  const auto alice = world.client();
  const auto bob = world.client();
  const auto lock = alice.rw_lock(name);
  auto lease = lock.write().acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto token = lease->token();
  EXPECT_TRUE(failed(bob.rw_lock(name).read().try_acquire(), Errc::busy));
  ASSERT_TRUE(succeeded(lock.downgrade(*lease)));
  EXPECT_TRUE(lease->valid());
  EXPECT_EQ(lease->token(), token);
  EXPECT_TRUE(succeeded(bob.rw_lock(name).read().try_acquire_for(patient)));
  EXPECT_TRUE(failed(bob.rw_lock(name).write().try_acquire(), Errc::busy));
  EXPECT_TRUE(succeeded(lease->release()));
  EXPECT_TRUE(succeeded(bob.rw_lock(name).write().try_acquire_for(patient)));
}

TEST_P(Kinds, DowngradeWakesReadersWhoWait) {
  HOLDFAST_NEEDS(rw);
  HOLDFAST_NEEDS(notifies);
  const auto alice = world.client();
  const auto bob = world.client();
  const auto lock = alice.rw_lock(name, {.ttl = held_long});
  auto lease = lock.write().acquire();
  ASSERT_TRUE(succeeded(lease));
  std::atomic<bool> read = false;
  std::jthread reader([&] {
    read = bob.rw_lock(name, {.ttl = held_long}).read().try_acquire_for(2 * patient).has_value();
  });
  ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1; }));
  ASSERT_TRUE(succeeded(lock.downgrade(*lease)));
  EXPECT_TRUE(eventually([&] { return read.load(); }));
}

TEST_P(Kinds, DowngradeOfWhatIsNoWriteLeaseIsInvalid) {
  HOLDFAST_NEEDS(rw);
  const auto alice = world.client();
  const auto lock = alice.rw_lock(name);
  auto other = alice.lock(name + "/mutex").acquire();
  ASSERT_TRUE(succeeded(other));
  EXPECT_TRUE(failed(lock.downgrade(*other), Errc::invalid));
  EXPECT_TRUE(other->valid());
  auto released = lock.write().acquire();
  ASSERT_TRUE(succeeded(released));
  ASSERT_TRUE(succeeded(released->release()));
  EXPECT_FALSE(lock.downgrade(*released));
}

TEST_P(Kinds, PermitsNeverExceedTheirNumber) {
  HOLDFAST_NEEDS(semaphore);
  constexpr int permits = 5;
  std::atomic<int> taken = 0, most = 0, too_many = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread, semaphore = world.client().semaphore(name, permits)] {
      for (int round = 0; round < scaled(150); ++round) {
        const int weight = 1 + (round + thread) % 3;
        const auto lease = semaphore.permits(static_cast<std::uint32_t>(weight)).acquire();
        ASSERT_TRUE(succeeded(lease));
        const int now = taken += weight;
        if (now > permits) ++too_many;
        most = std::max(most.load(), now);
        if (most <= 3) eventually([&] { return most > 3; }, 20ms);  // Until somebody joins.
        taken -= weight;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(too_many, 0);
  EXPECT_GT(most, 3);  // More than any of them could take alone.
}

TEST_P(Kinds, PermitsAreCountedByWeight) {
  HOLDFAST_NEEDS(semaphore);
  const auto alice = world.client().semaphore(name, 5);
  const auto bob = world.client().semaphore(name, 5);
  auto three = alice.permits(3).acquire();
  auto two = bob.permits(2).try_acquire();
  ASSERT_TRUE(succeeded(three));
  ASSERT_TRUE(succeeded(two));
  EXPECT_TRUE(failed(alice.permits().try_acquire(), Errc::busy));
  EXPECT_TRUE(failed(bob.permits().try_acquire(), Errc::busy));
  ASSERT_TRUE(succeeded(two->release()));
  EXPECT_TRUE(failed(bob.permits(3).try_acquire(), Errc::busy));
  EXPECT_TRUE(succeeded(bob.permits(2).try_acquire_for(patient)));
}

TEST_P(Kinds, PermitsOfAKilledProcessComeBack) {
  HOLDFAST_NEEDS(semaphore);
  HOLDFAST_NEEDS(processes);
  const auto alice = world.client().semaphore(name, 3);
  Peer peer(world.url());
  peer.acquire(name, "permits=2/3");
  ASSERT_TRUE(succeeded(alice.permits(1).try_acquire()));
  ASSERT_TRUE(failed(alice.permits(3).try_acquire(), Errc::busy));
  peer.kill();
  world.end_holder(name);
  EXPECT_TRUE(succeeded(alice.permits(3).try_acquire_for(patient)));
}

// Many small requests in a row do not starve a large one.
TEST_P(Kinds, AHeavyWaiterIsNotStarvedByLightOnes) {
  HOLDFAST_NEEDS(semaphore);
  HOLDFAST_NEEDS(queues);
  const Store clients[] = {world.client(), world.client()};
  std::atomic<bool> done = false;
  std::atomic<int> entries = 0;
  std::vector<std::jthread> crowd;
  for (int thread = 0; thread < 6; ++thread) {
    crowd.emplace_back([&, light = clients[thread % 2].semaphore(name, 4).permits(1)] {
      while (!done)
        if (light.acquire()) ++entries;
    });
  }
  EXPECT_TRUE(eventually([&] { return entries > 30; }));
  EXPECT_TRUE(succeeded(world.client().semaphore(name, 4).permits(4).try_acquire_for(patient)));
  EXPECT_TRUE(succeeded(clients[0].semaphore(name, 4).permits(4).try_acquire_for(patient)));
  done = true;
}

// lock() and rw_lock() of one name exclude each other.
TEST_P(Kinds, APlainLockIsTheWritingSide) {
  HOLDFAST_NEEDS(rw);
  const auto alice = world.client();
  const auto bob = world.client();
  auto plain = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(plain));
  EXPECT_TRUE(failed(bob.rw_lock(name).read().try_acquire(), Errc::busy));
  EXPECT_TRUE(failed(bob.rw_lock(name).write().try_acquire(), Errc::busy));
  ASSERT_TRUE(succeeded(plain->release()));
  const auto reader = bob.rw_lock(name).read().try_acquire_for(patient);
  ASSERT_TRUE(succeeded(reader));
  EXPECT_TRUE(failed(alice.lock(name).try_acquire(), Errc::busy));
}

TEST_P(Kinds, AnotherKindOfALiveNameIsInvalidAndNamesBoth) {
  HOLDFAST_NEEDS(semaphore);
  const auto alice = world.client();
  const auto bob = world.client();
  auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  const std::string in_use(to_string(world.traits().rw ? Kind::rw : Kind::mutex));
  for (const auto& client : {alice, bob}) {  // At the gate, and at the store.
    EXPECT_TRUE(failed(client.semaphore(name, 4).permits().try_acquire(), Errc::invalid));
    const auto refused = client.semaphore(name, 4).permits().acquire();
    ASSERT_TRUE(failed(refused, Errc::invalid));
    const auto& message = refused.error().message();
    EXPECT_NE(message.find(in_use), std::string::npos) << message;
    EXPECT_NE(message.find(to_string(Kind::semaphore)), std::string::npos) << message;
  }
  EXPECT_TRUE(lease->valid());
  ASSERT_TRUE(succeeded(lease->release()));
  const auto any_kind = bob.semaphore(name, 4).permits().try_acquire_for(patient);
  EXPECT_TRUE(succeeded(any_kind));  // Nobody holds it now.
}

TEST_P(Kinds, AnotherCapacityOfALiveNameIsInvalidAndNamesBoth) {
  HOLDFAST_NEEDS(semaphore);
  const auto alice = world.client();
  const auto bob = world.client();
  const auto lease = alice.semaphore(name, 17).permits().acquire();
  ASSERT_TRUE(succeeded(lease));
  for (const auto& client : {alice, bob}) {
    const auto refused = client.semaphore(name, 23).permits().acquire();
    ASSERT_TRUE(failed(refused, Errc::invalid));
    EXPECT_NE(refused.error().message().find("17"), std::string::npos) << refused.error().what();
    EXPECT_NE(refused.error().message().find("23"), std::string::npos) << refused.error().what();
  }
  EXPECT_TRUE(lease->valid());
}

TEST_P(Kinds, WhatTheStoreCannotCarryIsUnsupported) {
  const auto client = world.client();
  const auto& traits = world.traits();
  const auto expect = [](const Result<Lease>& lease, bool carried) {
    EXPECT_TRUE(carried ? succeeded(lease) : failed(lease, Errc::unsupported));
  };
  expect(client.lock("mutex").acquire(), traits.mutex);
  expect(client.rw_lock("rw").read().acquire(), traits.rw);
  expect(client.rw_lock("rw").write().acquire(), traits.rw);
  expect(client.semaphore("semaphore", 3).permits(2).acquire(), traits.semaphore);
}

}  // namespace
}  // namespace holdfast
