// X03 of docs/faults.md: only the server ever hears a password, whatever goes wrong.

#include <fstream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "support/diary.hpp"
#include "support/evil_server.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"

namespace holdfast::cli_test {
namespace {

using namespace std::chrono_literals;
using namespace support;

const std::string secret = "s3cr3t-Pa55";

class RedisSecrets : public Cli {
 protected:
  static std::string url_at(int port, const std::string& password = secret) {
    return "redis://alice:" + password + "@127.0.0.1:" + std::to_string(port);
  }
  Outcome holdfast_at(const std::string& url, const Words& arguments) const {
    auto planned = plan(arguments);
    planned.environment["HOLDFAST_STORE"] = url;
    return Running(planned).wait();
  }
  static testing::AssertionResult hides(const std::string& text) {
    if (text.find(secret) == text.npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "it tells the password: " << text;
  }
  static std::string contents(pid_t process, const char* file) {
    std::ostringstream text;
    text << std::ifstream("/proc/" + std::to_string(process) + "/" + file).rdbuf();
    return text.str();
  }

  RedisServer server{{.users = {"alice on >" + secret + " ~* &* +@all"}}};
};

TEST_F(RedisSecrets, X03WrongPasswordIsDenied) {
  const RedisServer other({.users = {"alice on >another ~* &* +@all"}});
  for (const Words& arguments :
       {Words{"run", "--wait", "5s", "x", "--", "true"}, Words{"ls"},
        Words{"show", "--verbose", "x"}, Words{"init"}, Words{"break", "x"}}) {
    SCOPED_TRACE(arguments[0]);
    for (const bool json : {false, true}) {
      const auto outcome = holdfast_at(url_at(other.port()) + "?guard=on",
                                       json ? Words{"--json"} + arguments : arguments);
      EXPECT_EQ(outcome.code, 77) << outcome.err;
      EXPECT_TRUE(hides(outcome.out + outcome.err));
      EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
    }
  }
  EXPECT_LE(other.client().calls().at("auth"), 10);  // One try each.
}

TEST_F(RedisSecrets, X03NothingThatIsToldHasIt) {
  const Diary diary;
  const auto alice = open(url_at(server.port()), diary.options()).value();
  EXPECT_TRUE(hides(alice.url()));
  EXPECT_NE(alice.url().find("alice:***@"), std::string::npos) << alice.url();
  {
    const auto lease = alice.lock("x").acquire();
    ASSERT_TRUE(succeeded(lease));
    for (const auto& holder : listed(alice, "x")) EXPECT_TRUE(hides(holder.who));
    server.client().command({"ACL", "SETUSER", "alice", "resetpass", ">changed"});
    server.client().command({"CLIENT", "KILL", "TYPE", "normal"});
    const auto next = alice.lock("y").try_acquire_for(2s);
    ASSERT_TRUE(failed(next, Errc::denied));
    EXPECT_TRUE(hides(next.error().what()));
    EXPECT_TRUE(hides(std::string(next.error().reason())));
  }
  for (const auto& event : diary.of("x")) EXPECT_TRUE(hides(event.reason));
  for (const auto& words :
       {Words{"show", "--verbose", "x"}, Words{"show", "--verbose", "--json", "x"}})
    EXPECT_TRUE(hides(holdfast_at(url_at(server.port(), "changed"), words).out));
}

TEST_F(RedisSecrets, X03NorDoErrorsOfAnyKind) {
  const Listener closed;
  closed.refuse();
  const EvilServer silent([](const RedisCommand&) { return Say{}; });
  const EvilServer wrong([](const RedisCommand&) { return Say{"HTTP/1.1 400 no\r\n"}; });
  const auto at = "redis://alice:" + secret + "@";
  // All at once, because it takes a third of the ttl to call a server silent.
  std::vector<std::pair<std::string, std::unique_ptr<Running>>> all;
  for (const auto& url :
       {url_at(closed.port()), url_at(silent.port()), url_at(wrong.port()), at + "nothing.invalid",
        at + "127.0.0.1:99999", at + "127.0.0.1:1/notanumber", at + "127.0.0.1?nosuch=1",
        at + "127.0.0.1?guard=maybe", at + "[::1", at + "a,b", at, "nosuch" + at + "h",
        "redis://alice:" + secret + "%zz@h", "rediss://alice:" + secret + "@127.0.0.1:1?ca=/absent",
        "redis+sentinel://127.0.0.1:1/m?sentinel_password=" + secret,
        "redis+sentinel://127.0.0.1:1/m?sentinel_password=" + secret + "&nosuch=1",
        "redis+cluster://alice:" + secret + "@127.0.0.1:1"}) {
    for (const bool json : {false, true}) {
      const Words arguments = {"run", "--ttl", "6s", "--no-wait", "x", "--", "true"};
      auto planned = plan(json ? Words{"--json"} + arguments : arguments);
      planned.environment["HOLDFAST_STORE"] = url;
      all.emplace_back(url, std::make_unique<Running>(planned));
    }
  }
  for (const auto& [url, running] : all) {
    SCOPED_TRACE(url);
    const auto outcome = running->wait();
    EXPECT_TRUE(outcome.code == 69 || outcome.code == 78) << outcome.code;
    EXPECT_TRUE(hides(outcome.out + outcome.err));
  }
}

// A server without the command AUTH repeats what it did not understand.
TEST_F(RedisSecrets, X03NorDoErrorsThatRepeatWhatWeSaid) {
  const RedisServer without({.config = {"rename-command AUTH \"\""}});
  const EvilServer repeats([](const RedisCommand& command) -> std::optional<Say> {
    std::string all;
    for (const auto& word : command) all += " " + word;
    return Say{"-ERR you said" + all.substr(0, 300) + "\r\n"};
  });
  for (const int port : {without.port(), repeats.port()}) {
    const auto outcome = holdfast_at(url_at(port), {"run", "--no-wait", "x", "--", "true"});
    EXPECT_NE(outcome.code, 0);
    EXPECT_TRUE(hides(outcome.err));
  }
}

TEST_F(RedisSecrets, X03NotInTheListOfProcessesNorInTheCommandsEnvironment) {
  for (const auto& url : {url_at(server.port()), url_at(server.port()) + "?prefix=a/"}) {
    auto planned = plan(Words{"--status-fd", "9", "run", "--store", url, "x", "--", "sh", "-c",
                              "env >" + path("env") + "; exec sleep 1000"});
    planned.environment["HOLDFAST_STORE"] = {};
    planned.status = true;
    Running holder(planned);
    ASSERT_TRUE(holder.line().starts_with("acquired"));
    ASSERT_TRUE(
        eventually([&] { return read("env").find("HOLDFAST_STORE=") != std::string::npos; }));
    EXPECT_TRUE(hides(read("env")));
    EXPECT_TRUE(hides(contents(holder.pid(), "cmdline")));
    EXPECT_TRUE(hides(contents(holder.guard(), "cmdline")));
    for (const pid_t child : children_of(holder.guard())) {
      EXPECT_TRUE(hides(contents(child, "cmdline")));
      EXPECT_TRUE(hides(contents(child, "environ")));
    }
    holder.signal(SIGTERM);
    const auto outcome = holder.wait();
    EXPECT_TRUE(hides(outcome.err));
    EXPECT_NE(outcome.err.find("password"), std::string::npos) << "no warning: " << outcome.err;
  }
}

TEST_F(RedisSecrets, X03NotInTheListOfProcessesWhileItLooksOrWaits) {
  const auto at_sentinels = "redis+sentinel://127.0.0.1:1/m?sentinel_password=" + secret;
  for (const Words& words :
       {Words{"watch", "--store", url_at(server.port())},
        Words{"run", "--store", at_sentinels, "--ttl", "6s", "x", "--", "true"}}) {
    SCOPED_TRACE(words[0]);
    Running running(plan(words));
    EXPECT_TRUE(eventually([&] {
      const auto line = contents(running.pid(), "cmdline");
      return line.find(words[0]) != line.npos && hides(line);
    }));
    EXPECT_FALSE(running.over());
  }
}

TEST_F(RedisSecrets, X03GivenByTheEnvironmentItStaysThere) {
  const auto url = url_at(server.port());
  const auto outcome =
      holdfast_at(url, {"run", "x", "--", "sh", "-c", "echo \"$HOLDFAST_STORE\" >" + path("env")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(read("env"), url + "\n");
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace holdfast::cli_test
