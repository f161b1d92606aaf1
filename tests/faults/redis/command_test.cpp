// What `holdfast run` does when its Redis server is out of reach: exit codes of N01, N02, N21, N23
// and N24, the end of the command in N03, and R01.

#include <sys/resource.h>

#include "cli/cli.hpp"
#include "support/evil_server.hpp"
#include "support/proxy.hpp"
#include "support/redis/left.hpp"
#include "support/results.hpp"

namespace holdfast::cli_test {
namespace {

using namespace std::chrono_literals;
using namespace support;

class RedisCommandLine : public Cli {
 protected:
  Running::Plan on(const std::string& url, const Words& arguments) const {
    auto planned = plan(arguments);
    planned.environment["HOLDFAST_STORE"] = url;
    return planned;
  }
  // Its command must never start.
  std::unique_ptr<Running> start_run(const std::string& url, const Words& flags) const {
    return std::make_unique<Running>(
        on(url, Words{"run"} + flags + Words{"x", "--", "touch", path("started")}));
  }
  Outcome end_of(Running& running) const {
    auto outcome = running.wait();
    EXPECT_FALSE(std::filesystem::exists(path("started")));
    EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
    return outcome;
  }
  Outcome run(const std::string& url, const Words& flags) const {
    return end_of(*start_run(url, flags));
  }
  // Nobody answers. To find that out takes a third of the ttl, so both run at once.
  void expect_unavailable_in_silence(const std::string& url) const {
    const auto tries = start_run(url, {"--ttl", "6s", "--no-wait"});
    EXPECT_EQ(run(url, {"--wait", "1s"}).code, 69);
    EXPECT_EQ(end_of(*tries).code, 69);
  }
  std::string behind_proxy() const { return "redis://" + proxy.address(); }

  RedisServer server;
  Proxy proxy{server.port()};
};

TEST_F(RedisCommandLine, N01Refused) {
  proxy.refuse();
  const auto waits = start_run(behind_proxy(), {});  // for its patience of 30 s
  const auto outcome = run(behind_proxy(), {"--no-wait"});
  EXPECT_EQ(outcome.code, 69);
  EXPECT_NE(outcome.err.find(proxy.address()), std::string::npos) << outcome.err;
  EXPECT_EQ(run(behind_proxy(), {"--wait", "300ms"}).code, 69);
  EXPECT_FALSE(waits->over());
}

TEST_F(RedisCommandLine, N02Silence) {
  proxy.hold();
  expect_unavailable_in_silence(behind_proxy());
  proxy.heal();
  const auto alice = open(server.url()).value();
  EXPECT_TRUE(eventually([&] { return listed(alice, "x").empty(); }));
}

// Otherwise the place in line of a process that is gone would last as long as its lease.
TEST_F(RedisCommandLine, AWaitThatTimedOutLeavesNothing) {
  const auto alice = open(server.url()).value();
  const auto held = alice.lock("x", {.ttl = held_long}).acquire();
  ASSERT_TRUE(succeeded(held));
  const auto its = left_in(server.client(), "x");
  ASSERT_EQ(its.size(), 1U);
  for (const auto* wait : {"0s", "300ms"}) {
    EXPECT_EQ(run(server.url(), {"--wait", wait}).code, 75);
    EXPECT_EQ(left_in(server.client(), "x"), its) << wait;
  }
}

class RedisCommandLineClock : public RedisCommandLine {};

// The lease is over when the server says so; from then on nobody may find the command alive.
TEST_F(RedisCommandLineClock, N03SilenceWhileTheCommandRuns) {
  auto planned =
      on(behind_proxy(), Words{"--status-fd", "9", "run", "--ttl", "6s", "x", "--"} + witnessed());
  planned.status = true;
  Running holder(planned);
  ASSERT_TRUE(holder.line().starts_with("acquired"));
  const auto command = pid_in("pid");
  const auto bob = open(server.url()).value();
  ASSERT_EQ(holding(bob, "x"), 1);
  proxy.hold();
  const auto outlived = [&] { return holding(bob, "x") == 0 && alive(command); };
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(outlived());
    return !alive(command);
  }));
  EXPECT_EQ(holder.wait().code, 76);
  EXPECT_EQ(holder.line(), "lost");
  Running next(on(server.url(), Words{"run", "x", "--"} + alone()));
  EXPECT_EQ(next.wait().code, 0);
}

TEST_F(RedisCommandLine, N21NameWithoutAnAddress) {
  const auto outcome = run("redis://nothing.invalid", {"--no-wait"});
  EXPECT_EQ(outcome.code, 69);
  EXPECT_NE(outcome.err.find("nothing.invalid"), std::string::npos) << outcome.err;
}

TEST_F(RedisCommandLine, N23ClusterThatIsDown) {
  const EvilServer node([&](const RedisCommand& command) -> std::optional<Say> {
    if (command.front() == "CLUSTER") return Say{"-CLUSTERDOWN The cluster is down\r\n"};
    return std::nullopt;
  });
  EXPECT_EQ(run("redis+cluster://" + node.address(), {"--ttl", "6s", "--no-wait"}).code, 69);
}

TEST_F(RedisCommandLine, N24ServerThatSaysNothing) {
  const EvilServer silent([](const RedisCommand&) { return Say{}; });
  expect_unavailable_in_silence(silent.url());
}

TEST_F(RedisCommandLine, R01TooFewDescriptors) {
  int refused = 0;
  for (rlim_t limit = 4;; ++limit) {
    SCOPED_TRACE(limit);
    ASSERT_LT(limit, 64U);
    auto planned = on(server.url(), {"run", "--no-wait", "x", "--", "true"});
    planned.before_exec = [limit] {
      const rlimit few{limit, limit};
      ::setrlimit(RLIMIT_NOFILE, &few);
    };
    const auto outcome = Running(planned).wait();
    if (outcome.code == 0) break;
    ++refused;
    if (limit < 8) continue;  // With so few not even the dynamic loader works.
    EXPECT_TRUE(outcome.code == 69 || outcome.code == 70) << outcome.code << outcome.err;
    EXPECT_NE(outcome.err.find("open files"), std::string::npos) << outcome.err;
  }
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(nothing_left_but_marks(server, "x"));
}

}  // namespace
}  // namespace holdfast::cli_test
