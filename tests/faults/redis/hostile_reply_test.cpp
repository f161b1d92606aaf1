// B15 and B16 of the fault catalogue: replies that no Redis server sends, in every place where we
// read one. They end the connection; they cost little memory, and nobody is ever told that it holds
// something.

#include <fstream>
#include <future>

#include "cli/cli.hpp"
#include "support/evil_server.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

const std::string name = "the/name";
constexpr long most_growth = 32 << 10;  // KiB

// How much more memory than at the beginning was ever in use.
class Memory {
 public:
  Memory() {
    std::ofstream("/proc/self/clear_refs") << 5;  // The peak begins anew.
    before_ = own_status("VmRSS");
  }
  long growth() const { return own_status("VmHWM") - before_; }

 private:
  long before_;
};

class RedisHostileReplies : public testing::Test {
 protected:
  static Store client(const EvilServer& evil) {
    return open(evil.url(), {.patience = 1s, .release_deadline = 20ms}).value();
  }
  // One line of printable text, not long.
  static void expect_decent(const Error& error) {
    EXPECT_TRUE(error.errc() == Errc::unavailable || error.errc() == Errc::corrupt) << error.what();
    EXPECT_LT(error.message().size(), 1024U);
    for (const char byte : error.message())
      EXPECT_TRUE(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f) << error.message();
  }
  // Each of the poisons, served as `place` says.
  template <class Place, class Test>
  static void each(Place&& place, Test&& test) {
    const RedisServer server;
    for (const auto& poison : poisons()) {
      SCOPED_TRACE(poison.name);
      const Memory memory;
      const EvilServer evil(place(poison.say), &server);
      test(server, evil);
      if (!sanitized) {
        EXPECT_LT(memory.growth(), most_growth);
      }
    }
  }
  static auto instead_of(const std::string& word) {
    return [word](const Say& say) {
      return [word, say](const RedisCommand& command) -> std::optional<Say> {
        if (command.front() == word) return say;
        return std::nullopt;
      };
    };
  }
  static void expect_no_lease(const RedisServer&, const EvilServer& evil) {
    const auto lease = client(evil).lock(name, {.ttl = 1s}).try_acquire();
    ASSERT_FALSE(lease);
    expect_decent(lease.error());
  }
};

TEST_F(RedisHostileReplies, B15InPlaceOfAnyReply) {
  each([](const Say& say) { return [say](const RedisCommand&) { return std::optional(say); }; },
       expect_no_lease);
}

TEST_F(RedisHostileReplies, B15InTheGreeting) {
  each(instead_of("INFO"), [](const RedisServer&, const EvilServer& evil) {
    // What is no error and does not break the stream may pass: the scripts alone decide.
    const auto lease = client(evil).lock(name, {.ttl = 1s}).try_acquire();
    if (!lease) expect_decent(lease.error());
  });
}

TEST_F(RedisHostileReplies, B15ToAnAsk) { each(to_scripts, expect_no_lease); }

TEST_F(RedisHostileReplies, B15ToAList) {
  each(instead_of("SCAN"), [](const RedisServer&, const EvilServer& evil) {
    const auto holders = client(evil).list();
    if (holders) {
      EXPECT_TRUE(holders->empty());
    } else {
      expect_decent(holders.error());
    }
  });
}

// Whoever waits is not granted anything by it, and gets the lock when it is free.
TEST_F(RedisHostileReplies, B15InPlaceOfASubscription) {
  each(instead_of("SUBSCRIBE"), [](const RedisServer& server, const EvilServer& evil) {
    const auto alice = client(evil);
    const auto bob = open(server.url()).value();
    auto held = bob.lock(name, {.ttl = 1s}).acquire();
    auto waited = std::async(std::launch::async,
                             [&] { return alice.lock(name, {.ttl = 1s}).try_acquire_for(30s); });
    ASSERT_TRUE(eventually([&] { return evil.commands("SUBSCRIBE") > 0; }));
    EXPECT_EQ(waited.wait_for(0s), std::future_status::timeout);
    EXPECT_EQ(holding(bob, name), 1);
    EXPECT_TRUE(succeeded(held->release()));
    EXPECT_TRUE(succeeded(waited.get()));
  });
}

TEST_F(RedisHostileReplies, B15InPlaceOfAMessage) {
  const auto behind_a_subscription = [](const Say& say) {
    return [say](const RedisCommand& command) -> std::optional<Say> {
      if (command.front() != "SUBSCRIBE") return std::nullopt;
      const auto& channel = command.at(1);
      const auto subscribed = "*3\r\n$9\r\nsubscribe\r\n$" + std::to_string(channel.size()) +
                              "\r\n" + channel + "\r\n:1\r\n";
      if (say.times == 1) return Say{subscribed + say.bytes, 1, say.then_close};
      return Say{subscribed + say.bytes + say.bytes, 1, true};
    };
  };
  each(behind_a_subscription, [](const RedisServer& server, const EvilServer& evil) {
    const auto alice = client(evil);
    const auto bob = open(server.url()).value();
    const auto held = bob.lock(name, {.ttl = 1s}).acquire();
    EXPECT_FALSE(alice.lock(name, {.ttl = 1s}).try_acquire_for(200ms));
    EXPECT_TRUE(held->valid());
  });
}

// A renewal that was not understood extends nothing, and what was held is lost in time.
TEST_F(RedisHostileReplies, B15ToARenewal) {
  const RedisServer server;
  std::vector<std::future<void>> all;
  for (const auto& poison : poisons()) {
    if (poison.say.times > 1) continue;  // Enough of them at once.
    all.push_back(std::async(std::launch::async, [&server, &poison] {
      SCOPED_TRACE(poison.name);
      std::atomic<bool> spoils = false;
      const EvilServer evil(
          [&](const RedisCommand& command) -> std::optional<Say> {
            if (spoils && command.front() == "EVALSHA") return poison.say;
            return std::nullopt;
          },
          &server);
      const auto alice = client(evil);
      const auto lease = alice.lock(poison.name, {.ttl = 3s}).acquire();
      ASSERT_TRUE(succeeded(lease));
      const auto lost = lease->lost();
      spoils = true;
      const auto bob = open(server.url()).value();
      const auto next = bob.lock(poison.name).acquire();
      EXPECT_TRUE(lost.stop_requested());
      EXPECT_FALSE(lease->valid());
    }));
  }
  for (auto& each : all) each.get();
}

// ── B16 ──────────────────────────────────────────────────────────────────────────────────────────

class RedisHostileErrors : public cli_test::Cli {};

TEST_F(RedisHostileErrors, B16AreEscapedAndCut) {
  for (const std::string& error :
       {std::string("ERR \x1b]0;pwned\x07\x1b[2J%s%n"), "ERR " + std::string(1 << 20, 'A'),
        "ERR " + std::string(1 << 20, '\x1b'), std::string("ERR one\nholdfast: two"),
        std::string("WRONGPASS \x9b\xff\xe2\x80\xae")}) {
    SCOPED_TRACE(error.substr(0, 20));
    const RedisServer server;
    const EvilServer evil(to_scripts({"-" + error + "\r\n"}), &server);
    for (const bool json : {false, true}) {
      auto planned = plan({"run", "--no-wait", "x", "--", "true"});
      if (json) planned.arguments.insert(planned.arguments.begin(), "--json");
      planned.environment["HOLDFAST_STORE"] = evil.url();
      const auto outcome = cli_test::Running(planned).wait();
      EXPECT_EQ(outcome.code, error.starts_with("ERR") ? 69 : 77);
      EXPECT_EQ(cli_test::lines_in(outcome.err), 1U) << outcome.err;
      EXPECT_LT(outcome.err.size(), 4096U);
      const auto controls = [](char byte) { return static_cast<unsigned char>(byte) < 0x20; };
      EXPECT_EQ(std::ranges::count_if(outcome.err, controls), 1);  // The end of the line.
    }
  }
}

}  // namespace
}  // namespace holdfast
