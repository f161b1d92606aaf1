// Goal: the reader parses the same replies from a stream however the network cuts it, and no
// server, however hostile, achieves more than the end of its connection.
// Method: every stream is read whole, byte by byte, and cut in two at every point. The room that
// the reader offers shows what it allocates; what is slow by design would not end in time.
#include "stores/redis/reply.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "stores/redis/request.hpp"
#include "support/eventually.hpp"
#include "support/redis/replies.hpp"

namespace holdfast::stores::redis {
namespace {

using support::Hearing;
using support::told_of;

struct Stream {
  const char* name;
  std::string bytes;
  std::string told;
};
void PrintTo(const Stream& stream, std::ostream* out) { *out << stream.name; }

std::string times(std::size_t count, std::string_view text) {
  std::string all;
  while (count-- > 0) all += text;
  return all;
}

class EveryCut : public testing::TestWithParam<Stream> {};

TEST_P(EveryCut, TellsTheSame) {
  const auto& [name, bytes, told] = GetParam();
  EXPECT_EQ(told_of({bytes}), told);
  Hearing slowly;
  for (const char& byte : bytes) slowly.hear({&byte, 1});
  EXPECT_EQ(slowly.told(), told);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const std::string_view all = bytes;
    ASSERT_EQ(told_of({all.substr(0, cut), all.substr(cut)}), told) << "cut at " << cut;
  }
}

const Stream good[] = {
    {"status", "+OK\r\n", "+OK\n"},
    {"empty_status", "+\r\n", "+\n"},
    {"error", "-ERR wrong number\r\n", "-ERR wrong number\n"},
    {"integers", ":0\r\n:-1\r\n:1700000000000000\r\n", "0\n-1\n1700000000000000\n"},
    {"integers_at_the_limits", ":9223372036854775807\r\n:-9223372036854775808\r\n",
     "9223372036854775807\n-9223372036854775808\n"},
    {"bulk", "$5\r\nhello\r\n", "'hello'\n"},
    {"bulk_with_line_ends", "$6\r\na\r\nb\r\n\r\n", "'a\r\nb\r\n'\n"},
    {"bulk_with_zeros", {"$3\r\n\0\0\0\r\n", 9}, {"'\0\0\0'\n", 6}},
    {"empty_bulk", "$0\r\n\r\n", "''\n"},
    {"nil", "$-1\r\n*-1\r\n", "nil\nnil\n"},
    {"array", "*4\r\n:1\r\n:1700000000000000\r\n$2\r\nab\r\n+OK\r\n",
     "[1 1700000000000000 'ab' +OK]\n"},
    {"empty_array", "*0\r\n:1\r\n", "[]\n1\n"},
    {"nested", "*3\r\n*2\r\n:1\r\n*1\r\n$1\r\nx\r\n*0\r\n*2\r\n$-1\r\n-no\r\n:7\r\n",
     "[[1 ['x']] [] [nil -no]]\n7\n"},
    {"only_empty_inside", "*2\r\n*0\r\n*0\r\n", "[[] []]\n"},
    {"empty_behind_a_full_one", "*2\r\n*1\r\n:1\r\n*0\r\n", "[[1] []]\n"},
    {"deepest", times(8, "*1\r\n") + ":1\r\n", "[[[[[[[[1]]]]]]]]\n"},
    {"many", times(50, "*2\r\n:1\r\n$1\r\nx\r\n"), times(50, "[1 'x']\n")},
    {"as_many_as_may_be", "*2\r\n*262142\r\n:1\r\n*0\r\n", ""},
    {"unfinished", ":1\r\n*2\r\n:1\r\n$10\r\nabc", "1\n"},
};

const Stream hostile[] = {
    {"http", "HTTP/1.1 400 Bad Request\r\n",
     "broken: a reply of no known type: this is no Redis server"},
    {"tls", "\x15\x03\x03", "broken: the server speaks TLS on this port"},
    {"zero_byte", {"\0", 1}, "broken: a reply of no known type: this is no Redis server"},
    {"resp3_map", "%1\r\n+a\r\n:1\r\n", "broken: a reply of RESP3, which was not asked for"},
    {"resp3_push_in_array", "*1\r\n>1\r\n", "broken: a reply of RESP3, which was not asked for"},
    {"after_a_good_one", "+OK\r\n?",
     "+OK\nbroken: a reply of no known type: this is no Redis server"},
    {"number_without_digits", ":\r\n", "broken: a number without digits"},
    {"number_of_a_sign", ":-\r\n", "broken: a number without digits"},
    {"number_with_plus", ":+1\r\n", "broken: a number without digits"},
    {"number_with_letters", ":1x\r\n", "broken: a line without CR LF at its end"},
    {"number_too_large", ":9223372036854775808\r\n", "broken: a number that is too large"},
    {"number_too_small", ":-9223372036854775809\r\n", "broken: a number that is too large"},
    {"number_without_end", ":" + times(100, "0"), "broken: a number with too many digits"},
    {"line_feed_alone", ":1\n", "broken: a line without CR LF at its end"},
    {"carriage_return_alone", "+a\rb\r\n", "broken: a line without CR LF at its end"},
    {"line_feed_in_status", "+a\nb\r\n", "broken: a line without CR LF at its end"},
    {"bulk_of_negative_length", "$-2\r\n", "broken: a string of negative length"},
    {"bulk_longer_than_said", "$3\r\nabcd\r\n", "broken: a line without CR LF at its end"},
    {"bulk_of_too_many_bytes", "$16777216\r\n", "broken: a reply of more than 16 MiB"},
    {"bulk_of_absurd_length", "$9223372036854775807\r\n", "broken: a reply of more than 16 MiB"},
    {"array_of_negative_length", "*-2\r\n", "broken: an array of negative length"},
    {"array_of_too_many", "*262145\r\n", "broken: a reply of too many items"},
    {"arrays_of_one_too_many", "*2\r\n*262143\r\n", "broken: a reply of too many items"},
    {"too_deep", times(9, "*1\r\n"), "broken: a reply of too many arrays in arrays"},
};

std::string name_of(const testing::TestParamInfo<Stream>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Good, EveryCut, testing::ValuesIn(good), name_of);
INSTANTIATE_TEST_SUITE_P(Hostile, EveryCut, testing::ValuesIn(hostile), name_of);

TEST(RedisReply, AnItemThatIsNotThereIsNil) {
  Reply reply;
  EXPECT_EQ(reply[0].type, Reply::Type::nil);
  EXPECT_EQ(reply[std::numeric_limits<std::size_t>::max()][1].type, Reply::Type::nil);
}

TEST(RedisReply, WhatIsAnnouncedCostsNothingUntilItComes) {
  Hearing hearing;
  hearing.hear("*1000\r\n$16000000\r\n").hear("x").hear("x");
  EXPECT_LE(hearing.most_room(), 64u << 10);
  EXPECT_EQ(hearing.told(), "");
}

TEST(RedisReply, TextsOutliveTheGrowthOfTheBuffer) {
  const std::string half(30'000, 'h');
  const std::string item = "$30000\r\n" + half + "\r\n";
  Hearing hearing;
  constexpr int rounds = 3;  // each reply is in the buffer before the next
  for (int round = 0; round < rounds; ++round) {
    hearing.hear("+first\r\n*2\r\n*2\r\n+inner\r\n" + item.substr(0, 100));
    for (std::size_t at = 100; at < item.size(); at += 777) hearing.hear(item.substr(at, 777));
    hearing.hear(item + ":1").hear("\r\n");
  }
  EXPECT_EQ(hearing.told(), times(rounds, "+first\n[[+inner '" + half + "'] '" + half + "']\n1\n"));
}

TEST(RedisReply, TextsOutliveAMoveInsideTheBuffer) {
  constexpr std::size_t before = 3'100;  // nearly fill a new buffer
  Hearing hearing;
  hearing.hear(times(before, "+x\r\n") + "*3\r\n$3\r\nabc\r\n").hear("*1\r\n$3\r\ndef\r\n");
  const std::string over_the_old_place(14'000, 'z');
  hearing.hear("$14000\r\n" + over_the_old_place + "\r\n");
  EXPECT_EQ(hearing.told(),
            times(before, "+x\n") + "['abc' ['def'] '" + over_the_old_place + "']\n");
}

TEST(RedisReply, ALargeReplyIsReadAndItsMemoryGivenBack) {
  const std::string large(Reader::most_bytes - 20, 'x');
  Hearing hearing;
  hearing.hear("$" + std::to_string(large.size()) + "\r\n").hear(large).hear("\r\n");
  EXPECT_EQ(hearing.told(), "'" + large + "'\n");
  EXPECT_LE(hearing.most_room(), Reader::most_bytes);

  EXPECT_LE(hearing.room(), 64u << 10);
}

TEST(RedisReply, OneByteTooManyIsTooMany) {
  constexpr std::string_view first = "*2\r\n$16777194\r\n";
  const std::string stream = std::string(first) + times(16'777'194, "x") + "\r\n:1\r\n";
  ASSERT_EQ(stream.size(), Reader::most_bytes - 1);
  for (const char* const more : {"", "0", "00"}) {
    std::string longer = stream;
    longer.insert(longer.size() - 2, more);
    const std::string_view all = longer;
    const bool fits = all.size() <= Reader::most_bytes;
    for (const std::size_t last : {1u, 5u, 100u}) {
      const auto told = told_of({all.substr(0, all.size() - last), all.substr(all.size() - last)});
      EXPECT_EQ(told.substr(0, 6), fits ? "['xxxx" : "broken") << last;
    }
  }
}

TEST(RedisReply, AnEndlessReplyIsCutOff) {
  const std::string line(1000, 'x');
  const std::string item = "$1000\r\n" + line + "\r\n";
  for (const auto& [first, more] : {std::pair<std::string, std::string>{"+", line},
                                    {"*262144\r\n", item},
                                    {"*2\r\n*262142\r\n", item}}) {
    Hearing hearing;
    hearing.hear(first);
    for (int pieces = 0; pieces < 20'000; ++pieces) hearing.hear(more);
    EXPECT_EQ(hearing.told(), "broken: a reply of more than 16 MiB");
    EXPECT_LE(hearing.most_room(), Reader::most_bytes);
    EXPECT_LE(hearing.room(), 64u << 10);
  }
}

// Each of these would take minutes if a byte made the reader start again from the beginning.
TEST(RedisReply, ByteByByteIsNotSlow) {
  const int size = support::scaled(1 << 22);
  const std::string line = "+" + times(static_cast<std::size_t>(size), "x") + "\r\n";
  const int count = support::scaled(1 << 17);
  const std::string array =
      "*" + std::to_string(count) + "\r\n" + times(static_cast<std::size_t>(count), ":1\r\n");
  for (const std::string& stream : {line, array}) {
    Hearing hearing;
    for (const char& byte : stream) hearing.hear({&byte, 1});
    EXPECT_TRUE(hearing.told().ends_with("\n"));
    EXPECT_FALSE(hearing.told().starts_with("broken"));
  }
}

TEST(RedisRequest, IsAnArrayOfBulks) {
  std::string out = "before";
  Request(out, 3) << "SET" << std::string_view("a\0\r\n", 4)
                  << std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(out, "before*3\r\n$3\r\nSET\r\n$4\r\n" + std::string("a\0\r\n", 4) +
                     "\r\n$20\r\n-9223372036854775808\r\n");
  EXPECT_EQ(told_of({std::string_view(out).substr(6)}),
            "['SET' '" + std::string("a\0\r\n", 4) + "' '-9223372036854775808']\n");
}

}  // namespace
}  // namespace holdfast::stores::redis
