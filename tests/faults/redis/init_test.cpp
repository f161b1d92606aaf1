// A server that forgot, and an operator who runs `init` (S02, S03): with the library and with the
// command, on one server and in a Cluster. A raw client reads the markers.
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "faults/redis/on_redis.hpp"
#include "support/peer.hpp"
#include "support/redis/cluster.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

constexpr auto guarded = "?guard=on&guard_ttl=40s";
constexpr Millis past_quarantine{41'000};

// The servers that have locks, all with one clock.
class Masters {
 public:
  virtual ~Masters() = default;
  virtual std::string url() const = 0;
  virtual std::vector<RedisServer*> servers() = 0;
  SkewedClock clock;
};

class Alone final : public Masters {
 public:
  std::string url() const override { return server_.url() + guarded; }
  std::vector<RedisServer*> servers() override { return {&server_}; }

 private:
  RedisServer server_{{.environment = clock.environment()}};
};

class InACluster final : public Masters {
 public:
  std::string url() const override { return cluster_.url() + guarded; }
  std::vector<RedisServer*> servers() override {
    std::vector<RedisServer*> masters;
    for (const auto& node : cluster_.nodes())
      if (node->client().info("replication", "role") == "master") masters.push_back(node.get());
    return masters;
  }

 private:
  RedisCluster cluster_{60s, {.environment = clock.environment()}};
};

struct Arrangement {
  const char* name;
  std::unique_ptr<Masters> (*make)();
};
void PrintTo(const Arrangement& row, std::ostream* out) { *out << row.name; }

class RedisInitCommand : public OnRedis, public testing::WithParamInterface<Arrangement> {
 protected:
  long markers() const {
    long count = 0;
    for (RedisServer* server : masters->servers())
      count += std::ssize(server->client().command({"KEYS", "hf:guard*"}).items);
    return count;
  }
  // The servers forget everything, and an earlier holder does not know it.
  void forget() const {
    for (RedisServer* server : masters->servers()) server->client().command({"FLUSHALL"});
    ASSERT_EQ(markers(), 0);
  }
  void disconnect_all() const {
    for (RedisServer* server : masters->servers()) {
      auto client = server->client();
      for (const auto* type : {"normal", "pubsub"})
        client.command({"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
    }
  }
  // Marks the server while it is new, and gives the peer its lock.
  void give_to(Peer& peer) const {
    ASSERT_TRUE(succeeded(open(url)->init(Init::as_new)));
    peer.acquire(name);
  }
  void init_by_all_means() const {
    EXPECT_TRUE(succeeded(open(url)->init()));
    EXPECT_EQ(holdfast_on(url, {"init"}).code, 0);
    EXPECT_EQ(markers(), 0);
  }
  // For longer than the holder can count on its lease.
  void expect_nobody_is_let_in_before_its_time() const {
    const auto bob = open(url).value();
    for (const Millis ahead : {Millis(0), past_ttl}) {
      masters->clock.set_ahead(ahead);
      const auto refused = bob.lock(name).try_acquire();
      ASSERT_TRUE(failed(refused, Errc::unavailable));
      EXPECT_EQ(refused.error().reason(), "quarantine");
    }
    masters->clock.set_ahead(past_quarantine);
    EXPECT_TRUE(succeeded(bob.lock(name).acquire()));
  }

  const std::unique_ptr<Masters> masters = GetParam().make();
  const std::string url = masters->url();
};
INSTANTIATE_TEST_SUITE_P(Redis, RedisInitCommand,
                         testing::Values(Arrangement{"single",
                                                     []() -> std::unique_ptr<Masters> {
                                                       return std::make_unique<Alone>();
                                                     }},
                                         Arrangement{"cluster",
                                                     []() -> std::unique_ptr<Masters> {
                                                       return std::make_unique<InACluster>();
                                                     }}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(RedisInitCommand, LetsNobodyInBesideAHolderThatIsConnected) {
  Peer peer(url);
  give_to(peer);
  forget();
  init_by_all_means();
  EXPECT_EQ(peer.ask("valid " + name), "yes");
  expect_nobody_is_let_in_before_its_time();
}

TEST_P(RedisInitCommand, LetsNobodyInBesideAHolderThatStandsStill) {
  Peer peer(url);
  give_to(peer);
  peer.stop();
  forget();
  disconnect_all();
  init_by_all_means();
  expect_nobody_is_let_in_before_its_time();
}

TEST_P(RedisInitCommand, AsNewIsRefusedWhileAHolderIsConnected) {
  Peer peer(url);
  give_to(peer);
  forget();
  const auto refused = open(url)->init(Init::as_new);
  EXPECT_TRUE(failed(refused, Errc::busy));
  EXPECT_TRUE(says(refused, "not connected cannot be seen"));
  const auto outcome = holdfast_on(url, {"init", "--new"});
  EXPECT_EQ(outcome.code, 75);
  EXPECT_EQ(cli_test::lines_in(outcome.err), 1U) << outcome.err;
  EXPECT_NE(outcome.err.find("not connected cannot be seen"), std::string::npos) << outcome.err;
  EXPECT_EQ(markers(), 0);
  EXPECT_EQ(peer.ask("valid " + name), "yes");
  expect_nobody_is_let_in_before_its_time();
}

TEST_P(RedisInitCommand, AsNewIsRefusedToWhoeverHoldsALockItself) {
  const auto alice = open(url).value();
  ASSERT_TRUE(succeeded(alice.init(Init::as_new)));
  auto lease = alice.lock(name).acquire();
  ASSERT_TRUE(succeeded(lease));
  forget();
  EXPECT_TRUE(failed(alice.init(Init::as_new), Errc::busy));
  EXPECT_EQ(markers(), 0);
}

TEST_P(RedisInitCommand, AsNewLetsTheFirstUseOfANewServerInAtOnce) {
  const auto outcome = holdfast_on(url, {"init", "--new"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GT(markers(), 0);
  EXPECT_EQ(holdfast_on(url, {"run", "--no-wait", name, "--", "true"}).code, 0);
}

// What a terminal shows after `answer` was typed, and the exit status.
class Typed {
 public:
  Typed(const std::string& url, const cli_test::Words& arguments, const std::string& answer) {
    int keyboard = -1;
    const pid_t command = ::forkpty(&keyboard, nullptr, nullptr, nullptr);
    if (command == 0) {
      ::setenv("HOLDFAST_STORE", url.c_str(), 1);
      std::vector<char*> words{const_cast<char*>("holdfast")};
      for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      ::execv(cli_test::binary.c_str(), words.data());
      ::_exit(99);
    }
    char part[1024];
    for (ssize_t length = 0; (length = ::read(keyboard, part, sizeof part)) > 0;) {
      screen.append(part, static_cast<std::size_t>(length));
      if (!asked() || answered_) continue;
      answered_ = ::write(keyboard, answer.data(), answer.size()) == std::ssize(answer);
    }
    ::close(keyboard);
    int status = 0;
    ::waitpid(command, &status, 0);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool asked() const { return screen.find("[y/N]") != std::string::npos; }

  std::string screen;
  int code = -1;

 private:
  bool answered_ = false;
};

class RedisInitQuestion : public OnRedis {};

TEST_F(RedisInitQuestion, IsAskedAtATerminalAndOnlyYesGoesOn) {
  const RedisServer server;
  const auto marked = [&] { return server.client().command({"EXISTS", "hf:guard"}).integer == 1; };
  for (const auto* no : {"n\n", "\n", "yes please\n", "\x04"}) {
    SCOPED_TRACE(no);
    const Typed refused(server.url() + guarded, {"init", "--new"}, no);
    EXPECT_TRUE(refused.asked()) << refused.screen;
    EXPECT_EQ(refused.code, 1) << refused.screen;
    EXPECT_FALSE(marked());
  }
  const Typed plain(server.url() + guarded, {"init"}, "n\n");
  EXPECT_FALSE(plain.asked()) << plain.screen;
  EXPECT_EQ(plain.code, 0);
  EXPECT_FALSE(marked());
  for (const auto* yes : {"y\n", "yes\n"}) {
    server.client().command({"FLUSHALL"});
    const Typed agreed(server.url() + guarded, {"init", "--new"}, yes);
    EXPECT_TRUE(agreed.asked());
    EXPECT_EQ(agreed.code, 0) << agreed.screen;
    EXPECT_TRUE(marked());
  }
}

}  // namespace
}  // namespace holdfast
