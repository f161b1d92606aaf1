// A server with many keys: a call for one name costs no more than on an empty one, and a list goes
// through all keys in pages (B19).
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "faults/redis/on_redis.hpp"
#include "support/evil_server.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;
using cli_test::Running;
using cli_test::Words;

// A terminal whose output the test reads.
class Screen {
 public:
  Screen() {
    if (::openpty(&keyboard_, &terminal_, nullptr, nullptr, nullptr) != 0)
      throw std::runtime_error("no terminal");
  }
  ~Screen() {
    ::close(keyboard_);
    ::close(terminal_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  int terminal() const noexcept { return terminal_; }
  bool shows(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return eventually([&] {
      pollfd ready{keyboard_, POLLIN, 0};
      char part[512];
      if (::poll(&ready, 1, 0) == 1)
        text_.append(part, static_cast<std::size_t>(
                               std::max<ssize_t>(0, ::read(keyboard_, part, sizeof part))));
      return text_.find(text) != std::string::npos;
    });
  }

 private:
  int keyboard_ = -1;
  int terminal_ = -1;
  std::mutex mutex_;
  std::string text_;
};

class RedisHasManyKeys : public OnRedis {
 protected:
  // Adds `each` foreign keys, and as many of released locks.
  void fill(int each) {
    redis.command({"SELECT", "1"});
    redis.command({"EVAL",
                   "for i = 1, ARGV[1] do redis.call('SET', 'other:' .. i, '') "
                   "redis.call('HSET', 'hf:{other' .. i .. '}', 's', 'h\\1\\0') end",
                   "0", std::to_string(each)});
  }
  std::map<std::string, long> calls_for(const std::string& url, const Words& words) {
    redis.command({"CONFIG", "RESETSTAT"});
    const auto outcome = holdfast_on(url, words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(cli_test::lines_in(outcome.err), 0U) << outcome.err;
    return redis.calls();
  }
  long scans() { return redis.calls()["scan"]; }
  // Taken when one listing has ended and the next has begun.
  long peak_of_watch(const std::string& url, long pages) {
    redis.command({"CONFIG", "RESETSTAT"});
    Running watch(plan_on(url, {"watch", "--json"}));
    EXPECT_TRUE(eventually([&] { return scans() > pages + 1; }, 3 * patient));
    return status_of(watch.pid(), "VmHWM");
  }

  RedisServer server;
  RedisClient redis = server.client();
  const std::string full = server.url() + "/1";
  const std::string empty = server.url() + "/2";
};

TEST_F(RedisHasManyKeys, OneNameCostsAsMuchAsInAnEmptyServer) {
  fill(50'000);
  const auto here = open(full).value().lock(name, long_lived).acquire();
  const auto there = open(empty).value().lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(here));
  ASSERT_TRUE(succeeded(there));
  for (const Words& words : {Words{"show", name}, {"show", "free"}, {"break", "free"}}) {
    const auto cost = calls_for(full, words);
    EXPECT_EQ(cost, calls_for(empty, words)) << words.front();
    EXPECT_FALSE(cost.contains("scan"));
  }
}

TEST_F(RedisHasManyKeys, ARunInsideARunOfItsNameListsNothing) {
  const auto cost =
      calls_for(server.url(), {"run", name, "--", cli_test::binary, "run", name, "--", "true"});
  EXPECT_FALSE(cost.contains("scan"));
  EXPECT_TRUE(cost.contains("evalsha"));
}

TEST_F(RedisHasManyKeys, WhoWaitsAtATerminalListsNothing) {
  const auto lease = open(server.url()).value().lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  redis.command({"CONFIG", "RESETSTAT"});
  Screen screen;
  auto waiter = plan_on(server.url(), {"run", name, "--", "true"});
  waiter.before_exec = [&] { ::dup2(screen.terminal(), STDERR_FILENO); };
  const Running waits(waiter);
  EXPECT_TRUE(screen.shows("waiting for '" + name + "', held by"));
  EXPECT_EQ(scans(), 0);
}

TEST_F(RedisHasManyKeys, B19AListStreams) {
  constexpr int each = sanitized ? 20'000 : 100'000;
  fill(each);
  const auto lease = open(full).value().lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  const auto outcome = holdfast_on(full, {"ls"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(cli_test::lines_in(outcome.out), 2U) << outcome.out;
  EXPECT_EQ(outcome.err, "");
  constexpr long pages = 2 * each / 500;
  const long little = peak_of_watch(empty, 1);
  EXPECT_LT(peak_of_watch(full, pages), little + (4 << 10));  // KiB
  auto calls = redis.calls();
  EXPECT_EQ(calls["keys"], 0);
  EXPECT_GT(calls["scan"], pages);
}

// Each page is answered 20 s after it was asked for, and all of them take minutes.
TEST_F(RedisHasManyKeys, AListLastsForAsLongAsItsPagesAreAnswered) {
  fill(2'000);
  const auto lease = open(full).value().lock(name, long_lived).acquire();
  ASSERT_TRUE(succeeded(lease));
  std::atomic<int> pages = 0;
  const EvilServer slow(
      [&](const RedisCommand& command) -> std::optional<Say> {
        if (command.front() == "SCAN") {
          ++pages;
          jump(20s);
        }
        return std::nullopt;
      },
      &server);
  const auto store = open(slow.url() + "/1").value();
  const auto listed = store.list();
  ASSERT_TRUE(succeeded(listed));
  EXPECT_EQ(listed->size(), 1U);
  EXPECT_GE(pages, 4000 / 500);
}

// No page is answered before the caller was told of the one before it.
TEST_F(RedisHasManyKeys, AListTellsItsCallerHowFarItIs) {
  fill(1'000);
  std::atomic<int> told = 0;
  const EvilServer slow(
      [&](const RedisCommand& command) -> std::optional<Say> {
        const int before = told;
        if (command.front() == "SCAN") eventually([&] { return told > before; });
        return std::nullopt;
      },
      &server);
  const auto store = open(slow.url() + "/1").value();
  std::vector<std::uint64_t> keys;
  ASSERT_TRUE(succeeded(store.list({}, [&](std::uint64_t so_far) {
    keys.push_back(so_far);
    ++told;
    return true;
  })));
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_GT(keys.back(), keys.front());
  const auto ended = store.list({}, [&](std::uint64_t so_far) {
    ++told;
    return so_far == 0;
  });
  EXPECT_TRUE(failed(ended, Errc::cancelled));
  EXPECT_TRUE(succeeded(store.holders(name)));
}

TEST_F(RedisHasManyKeys, ALongListTellsATerminalHowFarItIs) {
  fill(1'000);
  Screen screen;
  std::atomic<int> pages = 0;
  const EvilServer slow(
      [&](const RedisCommand& command) -> std::optional<Say> {
        if (command.front() == "SCAN" && ++pages == 2) screen.shows("holdfast: looked at ");
        return std::nullopt;
      },
      &server);
  auto listing = plan_on(slow.url() + "/1", {"ls"});
  listing.before_exec = [&] {
    ::dup2(screen.terminal(), STDOUT_FILENO);
    ::dup2(screen.terminal(), STDERR_FILENO);
  };
  Running ls(listing);
  EXPECT_EQ(ls.wait().code, 0);
  EXPECT_TRUE(screen.shows("NAME"));
  EXPECT_TRUE(screen.shows("holdfast: looked at "));
}

class RedisHasManyKeysClock : public RedisHasManyKeys {};

TEST_F(RedisHasManyKeysClock, WatchRestsForAsLongAsItsListingTook) {
  using Clock = std::chrono::steady_clock;
  constexpr auto long_listing = 2s;
  std::atomic<int> listings = 0;
  Clock::time_point answered;
  Clock::duration rest{0};
  const EvilServer slow(
      [&](const RedisCommand& command) -> std::optional<Say> {
        if (command.front() != "SCAN" || listings == 2) return std::nullopt;
        const auto asked = Clock::now();
        if (listings == 1) rest = asked - answered;
        if (listings == 0) eventually([&] { return Clock::now() >= asked + long_listing; });
        answered = Clock::now();
        ++listings;
        return std::nullopt;
      },
      &server);
  const Running watch(plan_on(slow.url(), {"watch"}));
  ASSERT_TRUE(eventually([&] { return listings == 2; }));
  EXPECT_GE(rest, long_listing);
}

}  // namespace
}  // namespace holdfast
