// Goal: names, children and URLs are read as they should be, and the line lets in the right claims.
// Method: by table, with no server.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/url.hpp"
#include "stores/zookeeper/line.hpp"

namespace holdfast::stores::zookeeper {
namespace {

using What = Verdict::What;

constexpr std::int32_t last = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
constexpr Shape whole{Kind::mutex, 1, 1};
constexpr Shape reader{Kind::rw, 100, 1}, writer{Kind::rw, 100, 100};

const Paths paths("");
const auto own = Layout::of({}, paths);

Options read(const std::string& text) {
  Url url;
  Problem problem;
  EXPECT_TRUE(core::parse_url(text, url, problem)) << problem.text;
  Options options;
  EXPECT_TRUE(read_options(url, options, problem)) << problem.text;
  return options;
}
std::string refusal(const std::string& text) {
  Url url;
  Problem problem;
  EXPECT_TRUE(core::parse_url(text, url, problem)) << problem.text;
  Options options;
  EXPECT_FALSE(read_options(url, options, problem));
  return problem.text;
}

Shape permits(std::uint32_t weight) { return {Kind::semaphore, 5, weight}; }

std::string child(std::uint8_t claim, const Shape& shape, std::int32_t sequence) {
  return with_sequence(own->stem({claim}, shape), sequence);
}

// The verdict on each child, in the order of the line: g(ranted), or the places that it watches.
std::vector<std::string> verdicts(const std::vector<std::string>& children) {
  const std::vector<std::string> shuffled(children.rbegin(), children.rend());
  const Line line(shuffled, *own);
  std::vector<std::string> all;
  for (const std::string& mine : children) {
    const Verdict verdict = judge(line, mine);
    std::string text = verdict.what == What::granted  ? "g"
                       : verdict.what == What::misfit ? "misfit"
                                                      : "";
    for (const std::string& watched : verdict.watch)
      text += std::to_string(std::ranges::find(children, watched) - children.begin());
    all.push_back(text);
  }
  return all;
}
using Words = std::vector<std::string>;

TEST(ZooKeeperPaths, EncodeAnyNameIntoOnePart) {
  EXPECT_EQ(paths.lock("orders/42"), "/holdfast/1/locks/orders%2F42");
  EXPECT_EQ(Paths("/a/b").cell("."), "/a/b/holdfast/1/cells/%2E");
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  for (const auto& name : {std::string("."), std::string(".."), std::string("a%"), every}) {
    const auto path = paths.lock(name);
    EXPECT_TRUE(is_path(path));
    EXPECT_EQ(name_of(path.substr(path.rfind('/') + 1)), name);
  }
  for (const auto* part : {".", "..", "%2f", "a b", "%"}) EXPECT_EQ(name_of(part), std::nullopt);
  for (const auto* path :
       {"", "a", "/", "/a/", "//a", "/a/../b", "/zookeeper", "/zookeeper/x", "/\n"})
    EXPECT_FALSE(is_path(path)) << path;
}

TEST(ZooKeeperOptions, AreReadFromTheUrl) {
  const auto options =
      read("zookeeper://user:pass@a,b:1,[::1]/x/y?session=6s&tick=500ms&acl=creator");
  EXPECT_EQ(options.servers, "a:2181,b:1,[::1]:2181");
  EXPECT_EQ(options.login, "user:pass");
  EXPECT_EQ(options.chroot, "/x/y");
  EXPECT_EQ(options.session, Millis(6000));
  EXPECT_EQ(options.tick, Millis(500));
  EXPECT_TRUE(options.creator_only);
  EXPECT_EQ(read("zookeeper://a/").chroot, "");
  EXPECT_EQ(read("zookeeper://a?dialect=kazoo").dialect, Dialect::kazoo);
}

TEST(ZooKeeperOptions, ThatMakeNoSenseAreRefused) {
  for (const auto* url :
       {"zookeeper:", "zookeeper://a/b/../c", "zookeeper://a/zookeeper", "zookeeper://a?session=5",
        "zookeeper://a?session=0s", "zookeeper://a?session=3s&tick=2s", "zookeeper://a?acl=all",
        "zookeeper://a?acl=creator", "zookeeper://a?dialect=other", "zookeeper://a?tls=on"})
    EXPECT_NE(refusal(url), "") << url;
  EXPECT_EQ(refusal("zookeeper://u:secret@a?acl=x").find("secret"), std::string::npos);
}

TEST(ZooKeeperLayout, ReadsWhatItWrites) {
  for (const auto sequence : {0, 7, last, least, -1}) {
    const auto name = child(0xab, permits(3), sequence);
    const auto read = own->read(name);
    ASSERT_TRUE(read) << name;
    EXPECT_EQ(read->shape, permits(3));
    EXPECT_EQ(read->sequence, sequence);
    EXPECT_EQ(read->claim, ClaimId{0xab});
    const auto lighter = own->read(own->reshaped(*read, permits(1)));
    ASSERT_TRUE(lighter);
    EXPECT_EQ(lighter->sequence, sequence);
    EXPECT_EQ(lighter->shape, permits(1));
  }
  const auto marker = own->read_marker(own->marker({7}, Millis(250)));
  ASSERT_TRUE(marker);
  EXPECT_EQ(marker->claim, ClaimId{7});
  EXPECT_EQ(marker->delay, Millis(250));
}

// S35
TEST(ZooKeeperLayout, TakesNothingElseForAClaim) {
  const auto good = child(1, whole, 5);
  for (const auto& name :
       {std::string("garbage"), std::string("lock-0000000001"), good + "x", "x" + good,
        good.substr(0, good.size() - 1), std::string("_c_") + good,
        child(1, {Kind::semaphore, 2, 3}, 1), child(1, {Kind::semaphore, 2, 0}, 1),
        own->marker({1}, Millis(5)) + "0x", std::string()}) {
    EXPECT_EQ(own->read(name), std::nullopt) << name;
    EXPECT_EQ(own->read_marker(name), std::nullopt) << name;
  }
  const std::vector<std::string> children = {"a", good, "zzz", own->marker({1}, Millis(5)),
                                             own->marker({2}, Millis(5))};
  const Line line(children, *own);
  EXPECT_EQ(line.claims.size(), 1U);
  ASSERT_EQ(line.orphans.size(), 1U);  // the other one's claim is there
  EXPECT_EQ(line.orphans.front().claim, ClaimId{2});
}

TEST(ZooKeeperLine, LetsInTheFirst) {
  EXPECT_EQ(verdicts({child(9, whole, 1), child(5, whole, 2), child(7, whole, 3)}),
            (Words{"g", "0", "1"}));
  EXPECT_EQ(judge(Line({}, *own), "x").what, What::missing);
}

TEST(ZooKeeperLine, LetsReadersInTogetherAndNotPastAWriter) {
  EXPECT_EQ(verdicts({child(1, reader, 1), child(2, reader, 2), child(3, writer, 3),
                      child(4, reader, 4), child(5, reader, 5), child(6, writer, 6)}),
            (Words{"g", "g", "1", "2", "2", "4"}));
  EXPECT_EQ(verdicts({child(1, writer, 1), child(2, reader, 2), child(3, reader, 3)}),
            (Words{"g", "0", "0"}));
}

TEST(ZooKeeperLine, CountsPermits) {
  // Any holder wakes the first waiter; each other waiter is woken by the one before it.
  EXPECT_EQ(verdicts({child(1, permits(2), 1), child(2, permits(2), 2), child(3, permits(3), 3),
                      child(4, permits(1), 4)}),
            (Words{"g", "g", "01", "2"}));
  const std::vector<std::string> two = {child(1, permits(2), 1), child(2, permits(2), 2)};
  EXPECT_TRUE(judge(Line(two, *own), two[0]).heard);
  EXPECT_FALSE(judge(Line(two, *own), two[1]).heard);
}

TEST(ZooKeeperLine, HasOneKindAtATime) {
  EXPECT_EQ(verdicts({child(1, whole, 1), child(2, permits(1), 2), child(3, reader, 3)}),
            (Words{"g", "misfit", "misfit"}));
}

// S34
TEST(ZooKeeperLine, KeepsItsOrderWhereSequencesWrap) {
  EXPECT_EQ(verdicts({child(9, whole, last - 1), child(8, whole, last), child(7, whole, least),
                      child(6, whole, least + 1)}),
            (Words{"g", "0", "1", "2"}));
  EXPECT_EQ(verdicts({child(9, whole, -2), child(8, whole, -1), child(7, whole, 0)}),
            (Words{"g", "0", "1"}));
}

TEST(ZooKeeperDialects, WriteAsTheirLibrariesDo) {
  ClaimId claim;
  for (std::size_t i = 0; i < claim.size(); ++i) claim[i] = static_cast<std::uint8_t>(i);
  const auto curator = Layout::of({.dialect = Dialect::curator}, paths);
  EXPECT_EQ(curator->stem(claim, whole), "_c_00010203-0405-0607-0809-0a0b0c0d0e0f-lock-");
  EXPECT_EQ(curator->stem(claim, {Kind::rw, 1 << 20, 1}),
            "_c_00010203-0405-0607-0809-0a0b0c0d0e0f-__READ__");
  EXPECT_EQ(curator->lock("/a/b"), "/a/b");
  EXPECT_EQ(curator->lock("a/b"), "/a/b");
  EXPECT_EQ(curator->lock("a//b"), std::nullopt);
  const auto kazoo = Layout::of({.chroot = "/c", .dialect = Dialect::kazoo}, paths);
  EXPECT_EQ(kazoo->stem(claim, whole), "000102030405060708090a0b0c0d0e0f__lock__");
  EXPECT_EQ(kazoo->lock("a"), "/c/a");
  for (const auto* layout : {&curator, &kazoo}) {
    const auto read = (*layout)->read(with_sequence((*layout)->stem(claim, whole), 12));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->claim, claim);
    EXPECT_EQ(read->order, "0000000012");
  }
}

// Curator counts every child; kazoo counts those with its own word before a sequence.
TEST(ZooKeeperDialects, CountWhomTheirLibrariesCount) {
  const auto curator = Layout::of({.dialect = Dialect::curator}, paths);
  const std::vector<std::string> mixed = {"_c_x-lock-0000000003", "lock-0000000002", "0-anything",
                                          with_sequence(curator->stem({1}, whole), 4)};
  const Line line(mixed, *curator);
  ASSERT_EQ(line.claims.size(), 4U);
  EXPECT_EQ(line.claims[0].name, "0-anything");
  EXPECT_EQ(granted(line.claims), 1U);
  EXPECT_EQ(judge(line, mixed[3]).watch, std::vector{mixed[0]});

  const auto kazoo = Layout::of({.dialect = Dialect::kazoo}, paths);
  EXPECT_TRUE(kazoo->read("abc__lock__0000000001"));
  EXPECT_TRUE(kazoo->read("__lock__-2147483648"));
  for (const auto* name :
       {"__lock__1", "x__rlock__0000000001", "__lock__00000000010", "0000000001"})
    EXPECT_FALSE(kazoo->read(name)) << name;
}

}  // namespace
}  // namespace holdfast::stores::zookeeper
