// Goal: a name is any 1 to 512 bytes, and two different names never meet.

#include <set>
#include <vector>

#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace support;

class Names : public Conformance {
 protected:
  // One client holds all of them at once, and another sees them, byte for byte.
  void expect_apart(const std::vector<std::string>& names) {
    std::vector<Lease> leases;
    for (const auto& each : names) {
      auto lease = alice.lock(each).try_acquire();
      ASSERT_TRUE(succeeded(lease)) << testing::PrintToString(each);
      leases.push_back(std::move(*lease));
      EXPECT_TRUE(failed(bob.lock(each).try_acquire(), Errc::busy)) << testing::PrintToString(each);
    }
    std::multiset<std::string> seen;
    const auto holders = bob.list().value();
    for (const auto& holder : holders) seen.insert(holder.name);
    EXPECT_EQ(seen, std::multiset<std::string>(names.begin(), names.end()));
  }
  const Store alice = world.client();
  const Store bob = world.client();
};
HOLDFAST_ON_EVERY_STORE(Names);

TEST_P(Names, EveryByteIsAName) {
  std::vector<std::string> names;
  for (int byte = 0; byte < 256; ++byte) names.emplace_back(1, static_cast<char>(byte));
  expect_apart(names);
}

TEST_P(Names, EveryByteMayStandInsideAName) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  expect_apart({all, all + all, std::string(512, '\0'), std::string(511, '\0')});
}

TEST_P(Names, ThatLookAlikeStayApart) {
  using namespace std::string_literals;
  expect_apart({"a",      "A",    "a ",      " a",    "a\t",   "a\0"s, "a\0b"s, "a\0c"s, "a/",
                "/a",     "a//b", "a/b",     "a%2Fb", "a%2fb", "a%",   "a%25",  ".",     "..",
                "a/../b", "é",    "e\u0301", "É",     "ß",     "ss",   "İ",     "i",     "ı"});
}

TEST_P(Names, ThatWouldHurtASloppyStoreDoNot) {
  using namespace std::string_literals;
  expect_apart({"x\r\nFLUSHALL\r\n",
                "'; DROP TABLE claims; --",
                "]] redis.call('flushall')",
                "%s%n%n",
                "$(reboot)",
                "*",
                "_",
                "[a-z]",
                "{tag}",
                "}",
                "{}",
                "\\",
                "\"",
                "`",
                "\xff\xfe",
                "\xc3\x28",
                "🔒",
                "\u202egnol",
                "zookeeper",
                "a\nb",
                "?",
                "#",
                "&prefix=b",
                "\x7f",
                "\x1b[31m",
                "\0\0"s});
}

TEST_P(Names, OfAllLengthsUpTo512) {
  expect_apart({"1", std::string(63, 'n'), std::string(64, 'n'), std::string(65, 'n'),
                std::string(250, 'n'), std::string(251, 'n'), std::string(255, 'n'),
                std::string(256, 'n'), std::string(511, 'n'), std::string(512, 'n'),
                std::string(511, 'n') + "m"});
}

TEST_P(Names, EmptyAndLongerOnesAreRefused) {
  for (const auto& bad : {std::string(), std::string(513, 'n'), std::string(1 << 20, 'n')}) {
    EXPECT_TRUE(failed(alice.lock(bad).acquire(), Errc::invalid));
    EXPECT_TRUE(failed(alice.lock(bad).try_acquire(), Errc::invalid));
    EXPECT_TRUE(failed(alice.rw_lock(bad).read().acquire(), Errc::invalid));
    EXPECT_TRUE(failed(alice.semaphore(bad, 2).permits().acquire(), Errc::invalid));
    EXPECT_TRUE(failed(alice.with_lock(bad, {}, [](const Lease&) {}), Errc::invalid));
    EXPECT_TRUE(failed(alice.revoke(bad), Errc::invalid));
    EXPECT_THROW(alice.lock(bad).lock(), Error);
  }
  EXPECT_TRUE(bob.list().value().empty());
}

TEST_P(Names, AreListedByPrefix) {
  const auto one = alice.lock("shop/1").acquire();
  const auto two = alice.lock("shop/2").acquire();
  const auto other = alice.lock("shoe").acquire();
  EXPECT_EQ(bob.list("shop/").value().size(), 2U);
  EXPECT_EQ(bob.list("sho").value().size(), 3U);
  EXPECT_EQ(bob.list("SHOP").value().size(), 0U);
  EXPECT_EQ(bob.list("%").value().size(), 0U);
  EXPECT_EQ(bob.list("sho_/").value().size(), 0U);
}

TEST_P(Names, HaveThePrefixOfTheUrlBeforeThem) {
  const auto ours = world.client({}, "prefix=ours/");
  const auto same = world.client({}, "prefix=ours/");
  const auto lease = ours.lock("x").acquire();
  ASSERT_TRUE(succeeded(lease));
  EXPECT_TRUE(failed(same.lock("x").try_acquire(), Errc::busy));
  EXPECT_TRUE(failed(alice.lock("ours/x").try_acquire(), Errc::busy));
  EXPECT_TRUE(succeeded(alice.lock("x").try_acquire()));
  EXPECT_EQ(same.list().value().size(), 1U);
  EXPECT_EQ(same.list("x").value().at(0).name, "x");
}

TEST_P(Names, AThousandAtOnce) {
  std::vector<Lease> leases;
  std::set<std::string> names;
  for (int number = 0; number < scaled(1000); ++number) {
    const auto each = "many/" + std::to_string(number);
    auto lease = alice.lock(each).acquire();
    ASSERT_TRUE(succeeded(lease));
    leases.push_back(std::move(*lease));
    names.insert(each);
  }
  EXPECT_EQ(bob.list("many/").value().size(), names.size());
  ASSERT_TRUE(world.renewed(leases.front(), alice));
  const std::uint64_t all = world.traits().validity == Validity::claim ? leases.size() : 0;
  ASSERT_TRUE(eventually([&] { return alice.stats().renewed >= all; }));
  for (auto& lease : leases) EXPECT_TRUE(lease.valid());
  EXPECT_EQ(alice.stats().lost, 0U);
  for (auto& lease : leases) EXPECT_TRUE(succeeded(lease.release()));
  EXPECT_TRUE(eventually([&] { return bob.list("many/").value().empty(); }));
}

}  // namespace
}  // namespace holdfast
