// N23 of docs/faults.md: nodes of a Cluster that send their clients round, nowhere, or away. N19:
// the node that would notify a waiter hangs, though its lock is on another node. S19: the lock's
// slot moves while it is contended.

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "stores/redis/keys.hpp"
#include "support/evil_server.hpp"
#include "support/own_clock.hpp"
#include "support/redis/cluster.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

const std::string wanted = "the/name";

// A node that claims to have all slots, and answers each script with an error.
class HostileNode {
 public:
  using Error = std::function<std::string()>;
  explicit HostileNode(Error error)
      : server_(
            [this, error = std::move(error)](const RedisCommand& command) -> std::optional<Say> {
              if (command.front() == "CLUSTER") return Say{slots_at(server_.port())};
              if (command.front() == "EVALSHA" || command.front() == "EVAL")
                return Say{"-" + error() + "\r\n"};
              return std::nullopt;
            }) {}

  std::string address() const { return server_.address(); }
  std::string url() const { return "redis+cluster://" + address(); }
  long scripts() const { return server_.commands("EVALSHA") + server_.commands("EVAL"); }

 private:
  static std::string slots_at(int port) {
    return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + std::to_string(port) + "\r\n";
  }
  EvilServer server_;
};

std::string to(const std::string& word, const std::string& address) {
  const auto slot = stores::redis::slot_of(stores::redis::lock_key(wanted));
  return word + " " + std::to_string(slot) + " " + address;
}

// Without a usable answer it gives up when its patience ends.
Result<Lease> try_at(const std::string& url, Millis patience = patient) {
  const auto store = open(url, {.patience = patience, .release_deadline = 50ms}).value();
  return store.lock(wanted).try_acquire();
}

TEST(RedisHostileCluster, N23OneNodeSendsToItself) {
  for (const std::string word : {"MOVED", "ASK"}) {
    SCOPED_TRACE(word);
    const HostileNode* self = nullptr;
    const HostileNode node([&] { return to(word, self->address()); });
    self = &node;
    const auto lease = try_at(node.url());
    ASSERT_TRUE(failed(lease, Errc::unavailable));
    EXPECT_EQ(lease.error().reason(), "moved") << lease.error().message();
    EXPECT_GE(node.scripts(), 2);
    EXPECT_LE(node.scripts(), 17);  // 16 redirections
  }
}

TEST(RedisHostileCluster, N23TwoNodesSendToEachOther) {
  for (const std::string word : {"MOVED", "ASK"}) {
    SCOPED_TRACE(word);
    const HostileNode* first = nullptr;
    const HostileNode second([&] { return to(word, first->address()); });
    const HostileNode node([&] { return to(word, second.address()); });
    first = &node;
    EXPECT_TRUE(failed(try_at(node.url()), Errc::unavailable));
    EXPECT_GE(second.scripts(), 1);
    EXPECT_LE(node.scripts() + second.scripts(), 17);
  }
}

TEST(RedisHostileCluster, N23SentWhereNobodyIs) {
  const Listener closed;
  closed.refuse();
  const auto nowhere = "127.0.0.1:" + std::to_string(closed.port());
  std::vector<std::future<void>> all;  // at once, because some try until their patience ends
  for (const auto& error :
       {to("MOVED", nowhere), to("ASK", nowhere), to("MOVED", "nothing.invalid:1"),
        to("MOVED", "127.0.0.1:0"), to("MOVED", ""), std::string("MOVED"),
        std::string("ASK 99999 127.0.0.1:1")})
    all.push_back(std::async(std::launch::async, [error] {
      SCOPED_TRACE(error);
      const HostileNode node([&] { return error; });
      EXPECT_TRUE(failed(try_at(node.url(), 1s), Errc::unavailable));
    }));
  for (auto& each : all) each.get();
}

TEST(RedisHostileCluster, N23NeverServed) {
  for (const std::string word : {"CLUSTERDOWN", "TRYAGAIN"}) {
    SCOPED_TRACE(word);
    const HostileNode node([&] { return word + " not now"; });
    auto trying = std::async(std::launch::async, [&] { return try_at(node.url()); });
    EXPECT_TRUE(eventually([&] { return node.scripts() > 1; }));
    jump(patient);  // It tries again until its deadline, which has come.
    const auto lease = trying.get();
    ASSERT_TRUE(failed(lease, Errc::unavailable));
    EXPECT_NE(lease.error().message().find(word + " not now"), std::string::npos)
        << lease.error().message();
  }
}

// In a Cluster whose nodes keep getting new addresses, a store that runs for long sees more of them
// than a Cluster can have nodes.
TEST(RedisHostileCluster, N23AddressesThatNobodyNamesAnyMoreAreForgotten) {
  constexpr int maps = 6, nodes = 250;
  const RedisServer server;
  const auto reply_of = [](const EvilServer& self, int others, int generation) {
    const auto range = [](int first, int last, const std::string& host, int port) {
      return "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) + "\r\n*2\r\n$" +
             std::to_string(host.size()) + "\r\n" + host + "\r\n:" + std::to_string(port) + "\r\n";
    };
    const int slot = stores::redis::slot_of(stores::redis::lock_key(wanted));
    std::string map = "*" + std::to_string(others + 1) + "\r\n" +
                      range(0, stores::redis::slots - 1, "127.0.0.1", self.port());
    for (int i = 0; i < others; ++i) {
      const int its = (slot + 1 + i) % stores::redis::slots;
      map += range(its, its, "127.1." + std::to_string(generation) + "." + std::to_string(i), 7000);
    }
    return Say{map};
  };
  const EvilServer* last = nullptr;
  const EvilServer newest(
      [&](const RedisCommand& command) -> std::optional<Say> {
        if (command.front() == "CLUSTER") return reply_of(*last, 0, 0);
        return std::nullopt;
      },
      &server);
  last = &newest;
  std::atomic<int> asked = 0;
  const EvilServer* first = nullptr;
  const EvilServer node([&](const RedisCommand& command) -> std::optional<Say> {
    if (command.front() == "CLUSTER") return reply_of(*first, nodes, asked++);
    if (command.front() != "EVALSHA" && command.front() != "EVAL") return std::nullopt;
    return Say{"-" + (asked < maps ? "TRYAGAIN not now" : to("MOVED", newest.address())) + "\r\n"};
  });
  first = &node;
  const auto store = open("redis+cluster://" + node.address()).value();
  EXPECT_TRUE(succeeded(store.lock(wanted).try_acquire_for(patient)));
}

// An address that is not named any more makes room for the next, even if we were connected to it.
TEST(RedisHostileCluster, N23OneNodeAfterTheOther) {
  constexpr std::size_t nodes = 8;
  const RedisServer server;
  std::vector<std::unique_ptr<EvilServer>> all;
  std::atomic<std::size_t> owner = 0;
  std::vector<std::string> addresses(nodes);
  for (std::size_t at = 0; at < nodes; ++at) {
    all.push_back(std::make_unique<EvilServer>(
        [&, at](const RedisCommand& command) -> std::optional<Say> {
          const std::string now = addresses[owner];
          const std::string port = now.substr(now.find(':') + 1);
          if (command.front() == "CLUSTER")
            return Say{"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + port + "\r\n"};
          const bool script = command.front() == "EVALSHA" || command.front() == "EVAL";
          if (script && at != owner) return Say{"-" + to("MOVED", now) + "\r\n"};
          return std::nullopt;
        },
        &server));
    addresses[at] = all.back()->address();
  }
  const auto store = open("redis+cluster://" + addresses[0]).value();
  for (int round = 0; round < 3; ++round) {
    for (std::size_t at = 0; at < nodes; ++at) {
      owner = at;
      jump(1s);  // Now it may ask for the map again.
      auto lease = store.lock(wanted).try_acquire_for(patient);
      ASSERT_TRUE(succeeded(lease));
      EXPECT_TRUE(succeeded(lease->release()));
      EXPECT_GT(all[at]->commands("EVALSHA") + all[at]->commands("EVAL"), 0);
    }
  }
}

// ── real nodes ───────────────────────────────────────────────────────────────────────────────────

class RedisClusterWaiters : public testing::Test {
 protected:
  static std::future<Result<Lease>> wait_for(const Store& store, const std::string& name) {
    return std::async(std::launch::async, [=] { return store.lock(name).acquire(); });
  }
  // The node at which this process listens, apart from `except`, which may not answer; or null.
  RedisServer* listened_at(const RedisServer* except = nullptr) {
    for (const auto& node : cluster.nodes()) {
      if (node.get() == except) continue;
      auto redis = node->client();
      if (!redis.command({"PUBSUB", "CHANNELS", "hf:to:*"}).items.empty()) return node.get();
    }
    return nullptr;
  }
  std::vector<std::string> names_at(const RedisServer& master, std::size_t count) {
    std::vector<std::string> names;
    for (int i = 0; names.size() < count; ++i) {
      auto name = "n" + std::to_string(i);
      const auto slot = stores::redis::slot_of(stores::redis::lock_key(name));
      if (&cluster.master_of(slot) == &master) names.push_back(std::move(name));
    }
    return names;
  }

  RedisCluster cluster{Millis(60'000)};  // no node is replaced because it hangs for a while
  const Store alice = open(cluster.url()).value();
  const Store bob = open(cluster.url()).value();
};

TEST_F(RedisClusterWaiters, N19TheNodeHangsAtWhichOneListens) {
  auto held = alice.lock("first").acquire();
  ASSERT_TRUE(succeeded(held));
  auto first = wait_for(bob, "first");
  RedisServer* node = nullptr;
  ASSERT_TRUE(eventually([&] { return (node = listened_at()) != nullptr; }));
  ASSERT_TRUE(succeeded(held->release()));
  ASSERT_TRUE(succeeded(first.get()));

  const auto names = names_at(cluster.other_master(*node), 2);
  const auto rival = alice.lock(names[0], {.ttl = held_long});
  held = rival.acquire();
  ASSERT_TRUE(succeeded(held));
  auto waited = wait_for(bob, names[0]);
  ASSERT_TRUE(eventually([&] { return waiting(alice, names[0]) == 1; }));
  node->stop();
  const auto asks = bob.stats().asks;
  jump(past_asking);
  ASSERT_TRUE(eventually([&] { return bob.stats().asks > asks; }));
  EXPECT_TRUE(succeeded(take_at_once(bob, names[1])));  // Its answer follows that of the ask.
  int grants = 0;
  const auto served = [&] { return waited.wait_for(0s) == std::future_status::ready; };
  EXPECT_TRUE(eventually([&] {
    if (served()) return true;
    if (held) {
      EXPECT_TRUE(succeeded(held->release()));
    }
    held = rival.try_acquire();
    grants += held.has_value();
    return served();
  })) << grants
      << " grants for its rival";
  EXPECT_TRUE(listened_at(node));
  node->resume();
  if (held) {
    EXPECT_TRUE(succeeded(held->release()));
  }
  EXPECT_TRUE(succeeded(waited.get()));
}

// Two clients take turns, each in a thread of its own.
struct Turns {
  std::atomic<int> inside{0}, together{0}, failed{0};
  std::atomic<int> served[2]{};
  std::atomic<std::uint64_t> token{0};
  std::atomic<int> backwards{0};

  void take(const std::stop_token& stop, const Lock& lock, std::size_t client) {
    while (!stop.stop_requested()) {
      const auto lease = lock.acquire();
      if (!lease) {
        ++failed;
        continue;
      }
      together += inside.fetch_add(1) != 0;
      backwards += token.exchange(lease->token().value) >= lease->token().value;
      ++served[client];
      inside.fetch_sub(1);
    }
  }
  // Both of them get it again and again.
  bool go_on() const {
    const int before[] = {served[0], served[1]};
    return eventually([&] { return served[0] > before[0] + 5 && served[1] > before[1] + 5; });
  }
};

TEST_F(RedisClusterWaiters, S19TheSlotMovesUnderContention) {
  const auto key = stores::redis::lock_key(wanted);
  const auto slot = stores::redis::slot_of(key);
  auto& from = cluster.master_of(slot);
  auto& to = cluster.other_master(from);
  Turns turns;
  {
    const std::jthread one([&](const auto& stop) { turns.take(stop, alice.lock(wanted), 0); });
    const std::jthread two([&](const auto& stop) { turns.take(stop, bob.lock(wanted), 1); });
    EXPECT_TRUE(turns.go_on());
    cluster.start_move(slot, to);
    EXPECT_TRUE(turns.go_on()) << "before its key has moved";
    cluster.move_keys(slot, to);
    EXPECT_TRUE(turns.go_on()) << "when the old node answers ASK";
    cluster.finish_move(slot, to);
    EXPECT_TRUE(turns.go_on()) << "when it answers MOVED";
  }
  EXPECT_EQ(turns.together, 0);
  EXPECT_EQ(turns.backwards, 0);
  EXPECT_EQ(turns.failed, 0);
  EXPECT_EQ(to.client().command({"EXISTS", key}).integer, 1);
  EXPECT_EQ(from.client().attempt({"EXISTS", key}).text.substr(0, 6), "MOVED ");
}

}  // namespace
}  // namespace holdfast
