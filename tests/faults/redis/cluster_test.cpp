// N23 of the fault catalogue: nodes of a Cluster that send their clients around, nowhere, or away.

#include <future>
#include <vector>

#include "stores/redis/keys.hpp"
#include "support/evil_server.hpp"
#include "support/own_clock.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

const std::string wanted = "the/name";

// A node that has all slots, as it says, and answers each script with an error.
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

// Without an answer that counts it gives up at its patience.
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

}  // namespace
}  // namespace holdfast
