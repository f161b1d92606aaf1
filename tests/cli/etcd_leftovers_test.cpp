// Goal: a command that has ended leaves nothing in etcd, however it ended; one that crashed leaves
// nothing that does not expire by itself.
// Method: a real server, inspected with etcdctl.
#include <algorithm>
#include <csignal>

#include "cli.hpp"
#include "stores/etcd_operator.hpp"

namespace holdfast::cli_test {
namespace {

class EtcdLeftovers : public Cli {
 protected:
  // A ttl of a day, so that the test sees everything that is left.
  std::unique_ptr<Running> run(const Words& flags, const Words& command) {
    return start(Words{"run", "--store", server_.url(), "--ttl", "24h"} + flags + Words{"x", "--"} +
                 command);
  }
  std::unique_ptr<Running> held() {
    auto holder = run({}, witnessed());
    EXPECT_TRUE(holder->line().starts_with("acquired"));
    pid_in("pid");
    EXPECT_FALSE(leases().empty());
    return holder;
  }
  std::vector<std::string> leases() const {
    auto all = holdfast::leases(server_);
    std::ranges::sort(all);
    return all;
  }
  std::string keys() const { return server_.ctl({"get", "", "--from-key", "--keys-only"}); }
  void end_all_leases() const {
    for (const std::string& lease : leases()) server_.ctl({"lease", "revoke", lease});
  }

  const support::EtcdServer server_;
};

TEST_F(EtcdLeftovers, NoLeaseIsLeftByACommandThatEnded) {
  for (const std::string code : {"0", "3"}) {
    const auto ended =
        run({}, {"sh", "-c",
                 "etcdctl --endpoints=" + server_.address() + " lease list >during; exit " + code});
    EXPECT_EQ(std::to_string(ended->wait().code), code);
    EXPECT_NE(read("during").find("found 1 leases"), std::string::npos) << read("during");
    EXPECT_EQ(leases(), std::vector<std::string>{});
  }
  EXPECT_EQ(keys(), "");
}

TEST_F(EtcdLeftovers, NoLeaseIsLeftByOneThatWasNotLetIn) {
  const auto holder = held();
  const auto before = leases();
  EXPECT_EQ(run({"--no-wait"}, {"true"})->wait().code, 75);
  EXPECT_EQ(leases(), before) << "busy";
  EXPECT_EQ(run({"--wait", "300ms"}, {"true"})->wait().code, 75);
  EXPECT_EQ(leases(), before) << "timed out";
  const auto waiter = run({}, {"true"});
  EXPECT_EQ(waiter->line(), "waiting");
  ASSERT_TRUE(eventually([&] { return leases().size() > before.size(); }));
  waiter->signal(SIGTERM);
  EXPECT_EQ(waiter->wait().code, 128 + SIGTERM);
  // Its guard may be slower than the waiter.
  EXPECT_TRUE(eventually([&] { return leases() == before; })) << "cancelled";
}

TEST_F(EtcdLeftovers, NoLeaseIsLeftByOneThatWasEnded) {
  const auto holder = held();
  holder->signal(SIGTERM);
  EXPECT_EQ(holder->wait().code, 128 + SIGTERM);
  EXPECT_TRUE(eventually([&] { return leases().empty(); }));
  EXPECT_EQ(keys(), "");
}

TEST_F(EtcdLeftovers, NoLeaseIsLeftByOneThatLostIt) {
  const auto holder = held();
  server_.end_holder("x");
  EXPECT_EQ(holder->wait().code, 76);
  EXPECT_TRUE(eventually([&] { return leases().empty(); }));
  EXPECT_EQ(keys(), "");
}

TEST_F(EtcdLeftovers, WhatACrashLeavesEndsByItself) {
  auto holder = held();
  const pid_t guard = holder->guard(), command = pid_in("pid");
  ::kill(guard, SIGKILL);
  holder->signal(SIGKILL);
  holder->wait();
  ASSERT_TRUE(eventually([&] { return !alive(guard); }));
  ::kill(-command, SIGKILL);
  EXPECT_NE(keys(), "");
  EXPECT_EQ(run({"--no-wait"}, {"true"})->wait().code, 75);
  end_all_leases();  // As they would end by themselves, because nobody keeps them alive.
  EXPECT_EQ(keys(), "") << "it would stay for ever";
  EXPECT_EQ(run({"--no-wait"}, {"true"})->wait().code, 0);
  EXPECT_EQ(leases(), std::vector<std::string>{});
}

}  // namespace
}  // namespace holdfast::cli_test
