// The small pure parts: URLs, escaping, delays, validity, and the wish of a name pattern.
#include <gtest/gtest.h>

#include "core/text.hpp"
#include "core/url.hpp"
#include "core/validity.hpp"
#include "holdfast/pattern.hpp"

namespace holdfast::core {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

Url parsed(std::string_view text) {
  Url url;
  Problem problem;
  EXPECT_TRUE(parse_url(text, url, problem)) << text << ": " << problem.text;
  return url;
}

TEST(Url, Forms) {
  EXPECT_EQ(parsed("sqlite:relative.db").path, "relative.db");
  EXPECT_EQ(parsed("sqlite:/absolute.db").path, "/absolute.db");
  EXPECT_EQ(parsed("sqlite:///absolute.db").path, "/absolute.db");
  EXPECT_TRUE(parsed("sqlite:///absolute.db").hosts.empty());
  const Url url = parsed("redis+cluster://us%40er:p%3A%2F%40w@a:1,[::1]:2,c/9?prefix=x%2F&tls=on");
  EXPECT_EQ(url.scheme, "redis+cluster");
  EXPECT_EQ(url.user, "us@er");
  EXPECT_EQ(url.password, "p:/@w");
  ASSERT_EQ(url.hosts.size(), 3U);
  EXPECT_EQ(url.hosts[1].name, "::1");
  EXPECT_EQ(url.hosts[1].port, 2);
  EXPECT_EQ(url.hosts[2].port, 0);
  EXPECT_EQ(url.path, "/9");
  EXPECT_EQ(url.options.at("prefix"), "x/");
}

TEST(Url, RefusedWithOneLineAndWithoutTheSecret) {
  for (const char* text :
       {"", "sqlite", ":x", "SQLITE:x", "a b:x", "redis://[::1", "redis://h:0", "redis://h:65536",
        "redis://h:x", "redis://a,,b", "redis://a,", "redis://u:secret@h:0",
        "redis://u:secret%zz@h", "sqlite:x?y", "sqlite:x?a=1&a=2", "sqlite:a%00b"}) {
    Url url;
    Problem problem;
    EXPECT_FALSE(parse_url(text, url, problem)) << text;
    EXPECT_EQ(problem.errc, Errc::invalid);
    EXPECT_FALSE(problem.text.empty());
    EXPECT_EQ(problem.text.find('\n'), std::string::npos);
    EXPECT_EQ(problem.text.find("secret"), std::string::npos);
  }
}

TEST(Url, ShownWithoutTheSecret) {
  EXPECT_EQ(shown(parsed("redis://user:secret@h:6379/1")), "redis://user:***@h:6379/1");
  EXPECT_EQ(shown(parsed("redis://:secret@[::1]:1")), "redis://:***@[::1]:1");
  EXPECT_EQ(shown(parsed("sqlite:/a b?prefix=x")), "sqlite:/a b?prefix=x");
  EXPECT_EQ(shown(parsed("redis://h?password=secret")).find("secret"), std::string::npos);
}

TEST(Text, EscapedStaysOnOneLine) {
  EXPECT_EQ(escaped("plain / ünïcode ✓"), "plain / ünïcode ✓");
  EXPECT_EQ(escaped("a\r\nb\x1b[0m\"\\"), "a\\x0d\\x0ab\\x1b[0m\\x22\\x5c");
  EXPECT_EQ(escaped("\xff\xc0\xaf\xed\xa0\x80"), "\\xff\\xc0\\xaf\\xed\\xa0\\x80")
      << "broken UTF-8";
  EXPECT_EQ(escaped("\u202egnp.exe"), "\\xe2\\x80\\xaegnp.exe") << "text that turns its direction";
  EXPECT_LT(escaped(std::string(100'000, 'x')).size(), 600U);
}

TEST(NextDelay, Policies) {
  EXPECT_EQ(spin()(1, 5), microseconds(0));
  EXPECT_EQ(spin_then_sleep(3, Millis(7))(3, 5), microseconds(0));
  EXPECT_EQ(spin_then_sleep(3, Millis(7))(4, 5), Millis(7));
  EXPECT_EQ(sleep(Millis(9))(1, 5), Millis(9));
  const auto jitter = decorrelated_jitter(Millis(5), Millis(250));
  for (std::uint32_t attempt = 1; attempt < 50; ++attempt) {
    for (const std::uint64_t random : {0ULL, 1ULL << 63, ~0ULL, 12345678901234567ULL}) {
      EXPECT_GE(jitter(attempt, random), Millis(5));
      EXPECT_LE(jitter(attempt, random), Millis(250));
    }
  }
  EXPECT_LE(jitter(1, ~0ULL), Millis(15));
}

TEST(Validity, ErrsOnTheShortSide) {
  const BootTime sent(seconds(100));
  EXPECT_EQ(end_of(sent, Millis(3000), Millis(1)), sent + Millis(2969));
  // The validity of a message counts by the store's own stamps, and never from later than now.
  EXPECT_EQ(end_of_handed(sent, seconds(10), sent + seconds(50), Millis(3000), Millis(1)),
            sent + Millis(9900) + Millis(2969));
  EXPECT_EQ(end_of_handed(sent, seconds(10), sent + seconds(9), Millis(3000), Millis(1)),
            sent + seconds(9) + Millis(2969));
  EXPECT_EQ(default_margin(Millis(500)), Millis(50));
  EXPECT_EQ(default_margin(Millis(30'000)), Millis(1500));
}

TEST(Validity, TokensPutTogether) {
  Traits traits;
  EXPECT_EQ(token_of(traits, 7, 3).value, 7U * 1024 + 3);
  traits.bare_tokens = true;
  EXPECT_EQ(token_of(traits, 7, 0).value, 7U);
  traits.tokens = false;
  EXPECT_EQ(token_of(traits, 7, 3).value, 0U);
}

TEST(NamePattern, TakesItsArgumentsInOrder) {
  constexpr NamePattern pattern("stock/{}/{}");
  EXPECT_EQ(pattern.fill(-42, "north"), "stock/-42/north");
  EXPECT_EQ(pattern.fill(std::string("{}"), 7ULL, 9), "stock/{}/7");
  EXPECT_EQ(pattern.holes(), 2U);
}

}  // namespace
}  // namespace holdfast::core
