// B15 and B16 of docs/faults.md: replies that no Redis server sends, in every place where we read
// one. They end the connection and cost little memory, and nobody ever believes that it holds
// something because of them.

#include <atomic>
#include <fstream>
#include <future>
#include <memory>

#include "cli/cli.hpp"
#include "faults/redis/moments.hpp"
#include "support/evil_server.hpp"
#include "support/results.hpp"
#include "support/skewed_clock.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

constexpr long most_growth = 32 << 10;  // KiB

// How far memory use has ever risen above that at the beginning.
class Memory {
 public:
  Memory() {
    std::ofstream("/proc/self/clear_refs") << 5;  // Resets the peak.
    before_ = own_status("VmRSS");
  }
  long growth() const { return own_status("VmHWM") - before_; }

 private:
  long before_;
};

class RedisHostileReplies : public testing::Test {
 protected:
  // Some poisons are not recognized before the patience ends.
  static Store client(const EvilServer& evil, Millis patience = 500ms) {
    return open(evil.url(), {.patience = patience, .release_deadline = 20ms}).value();
  }
  // One short line of printable text.
  static void expect_decent(const Error& error) {
    EXPECT_TRUE(error.errc() == Errc::unavailable || error.errc() == Errc::corrupt) << error.what();
    EXPECT_LT(error.message().size(), 1024U);
    for (const char byte : error.message())
      EXPECT_TRUE(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f) << error.message();
  }
  // Serves each hostile reply where `place` says, each to a lock with the reply's name.
  template <class Place, class Test>
  static void each(Place&& place, Test&& test) {
    const RedisServer server;
    for (const auto& poison : poisons()) {
      SCOPED_TRACE(poison.name);
      const Memory memory;
      const EvilServer evil(place(poison.say), &server);
      test(server, evil, poison.name);
      if (!sanitized) {
        EXPECT_LT(memory.growth(), most_growth);
      }
    }
  }
  // The same where each test has to wait: all of them together take less memory than any endless
  // reply would, if it were kept.
  template <class Place, class Test>
  static void all_at_once(Place&& place, Test&& test) {
    const RedisServer server;
    const Memory memory;
    std::vector<std::future<void>> all;
    for (const auto& poison : poisons())
      all.push_back(std::async(std::launch::async, [&] {
        SCOPED_TRACE(poison.name);
        const EvilServer evil(place(poison.say), &server);
        test(server, evil, poison.name);
      }));
    for (auto& each : all) each.get();
    if (!sanitized) {
      EXPECT_LT(memory.growth(), 4 * most_growth);
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
  static void expect_no_lease(const RedisServer&, const EvilServer& evil, const std::string& name) {
    const auto lease = client(evil).lock(name).try_acquire();
    ASSERT_FALSE(lease);
    expect_decent(lease.error());
  }
};

TEST_F(RedisHostileReplies, B15InPlaceOfAnyReply) {
  each([](const Say& say) { return [say](const RedisCommand&) { return std::optional(say); }; },
       expect_no_lease);
}

TEST_F(RedisHostileReplies, B15InTheGreeting) {
  each(instead_of("INFO"), [](const RedisServer&, const EvilServer& evil, const std::string& name) {
    // A reply that is no error and does not break the stream may pass: only the scripts decide.
    const auto lease = client(evil).lock(name).try_acquire();
    if (!lease) expect_decent(lease.error());
  });
}

TEST_F(RedisHostileReplies, B15ToAnAsk) { each(to_scripts, expect_no_lease); }

TEST_F(RedisHostileReplies, B15ToAList) {
  each(instead_of("SCAN"), [](const RedisServer&, const EvilServer& evil, const std::string&) {
    const auto holders = client(evil).list();
    if (holders) {
      EXPECT_TRUE(holders->empty());
    } else {
      expect_decent(holders.error());
    }
  });
}

// It grants a waiter nothing, and the waiter gets the lock when it is free.
TEST_F(RedisHostileReplies, B15InPlaceOfASubscription) {
  all_at_once(instead_of("SUBSCRIBE"),
              [](const RedisServer& server, const EvilServer& evil, const std::string& name) {
                const auto alice = client(evil, patient);
                const auto bob = open(server.url()).value();
                auto held = bob.lock(name).acquire();
                // The shorter the ttl, the sooner a subscription counts as failed.
                auto waited = std::async(std::launch::async,
                                         [&] { return alice.lock(name, {.ttl = 6s}).acquire(); });
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
  all_at_once(behind_a_subscription,
              [](const RedisServer& server, const EvilServer& evil, const std::string& name) {
                const auto alice = client(evil);
                const auto bob = open(server.url()).value();
                const auto held = bob.lock(name).acquire();
                EXPECT_FALSE(alice.lock(name).try_acquire_for(shortly));
                EXPECT_TRUE(held->valid());
              });
}

// A holder whose server spoils renewals from some moment on.
class Spoiled {
 public:
  Spoiled(const RedisServer& server, const Poison& poison)
      : name(poison.name),
        evil_(
            [this, &poison](const RedisCommand& command) -> std::optional<Say> {
              if (!spoils_ || command.front() != "EVALSHA") return std::nullopt;
              ++spoilt_;
              return poison.say;
            },
            &server),
        store_(open(evil_.url(), {.patience = 1s, .release_deadline = 20ms}).value()),
        lease(store_.lock(name, {.margin = 5s}).acquire().value()) {
    spoils_ = true;
  }
  bool spoilt() const { return spoilt_ > 0; }

  const std::string name;

 private:
  std::atomic<bool> spoils_ = false;
  std::atomic<int> spoilt_ = 0;
  const EvilServer evil_;
  const Store store_;

 public:
  const Lease lease;
};

// A renewal that was not understood extends nothing, and what was held is lost in time.
TEST_F(RedisHostileReplies, B15ToARenewal) {
  SkewedClock clock;
  const RedisServer server({.environment = clock.environment()});
  std::vector<std::unique_ptr<Spoiled>> all;
  for (const auto& poison : poisons())
    if (poison.say.times == 1)  // Only these, because all run at once.
      all.push_back(std::make_unique<Spoiled>(server, poison));
  const auto bob = open(server.url()).value();
  jump(past_renewal);
  for (const auto& each : all) {
    SCOPED_TRACE(each->name);
    EXPECT_TRUE(eventually([&] { return each->spoilt(); }));
    EXPECT_LT(each->lease.left(), 30s - past_renewal);
  }
  constexpr Millis almost = 26s;  // the margin has begun
  jump(almost - past_renewal);
  clock.set_ahead(almost);
  for (const auto& each : all) {
    SCOPED_TRACE(each->name);
    EXPECT_TRUE(eventually([&] { return each->lease.lost().stop_requested(); }));
    EXPECT_FALSE(each->lease.valid());
    EXPECT_TRUE(failed(bob.lock(each->name).try_acquire(), Errc::busy));
  }
  clock.set_ahead(past_ttl);
  for (const auto& each : all) EXPECT_TRUE(succeeded(bob.lock(each->name).acquire()));
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
      EXPECT_EQ(std::ranges::count_if(outcome.err, controls), 1);  // The newline.
    }
  }
}

}  // namespace
}  // namespace holdfast
