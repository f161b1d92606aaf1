// Goal: the parts of a store's URL that others may see have no password in them (X03). That needs
// no server, so these tests call the functions themselves.
#include "cli/location.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "support/files.hpp"

namespace holdfast::cli {
namespace {

Location located(const std::string& by_option, const char* by_environment) {
  if (by_environment)
    ::setenv("HOLDFAST_STORE", by_environment, 1);
  else
    ::unsetenv("HOLDFAST_STORE");
  Options options;
  if (!by_option.empty()) options.store = by_option;
  return locate(options);
}

TEST(Location, APasswordOfTheCommandLineIsNotPassedOn) {
  const auto where = located("redis://user:pa55@h:6379/0?prefix=a", nullptr);
  EXPECT_EQ(where.url, "redis://user:pa55@h:6379/0?prefix=a");
  EXPECT_EQ(where.pass_on, "redis://user@h:6379/0?prefix=a");
}

TEST(Location, APasswordOfTheEnvironmentStaysThere) {
  const char* url = "redis://user:pa55@h";
  EXPECT_EQ(located("", url).pass_on, url);
  EXPECT_EQ(located(url, url).pass_on, url);
  EXPECT_EQ(located("redis://user:other@h", url).pass_on, "redis://user@h");
}

TEST(Location, APasswordMayStandInAnOption) {
  const auto where = located("redis+sentinel://a:b@h/m?sentinel_password=pa55&prefix=a", nullptr);
  EXPECT_EQ(where.pass_on, "redis+sentinel://a@h/m?sentinel_password=&prefix=a");
  EXPECT_TRUE(has_password("redis+sentinel://h/m?prefix=a&sentinel%5Fpassword=pa55"));
  EXPECT_FALSE(has_password("redis+sentinel://user@h/m?prefix=a:b@c"));
  EXPECT_EQ(identity_of(where.url), identity_of(where.pass_on));
}

TEST(Location, ItIsSeenThatNothingIsChecked) {
  EXPECT_TRUE(is_insecure("rediss://h/0?prefix=a&insecure=on"));
  EXPECT_TRUE(is_insecure("redis+cluster://h?%69nsecure=%6fn&tls=on"));
  EXPECT_FALSE(is_insecure("rediss://h?insecure=off"));
  EXPECT_FALSE(is_insecure("rediss://h?prefix=insecure=on"));
  EXPECT_FALSE(is_insecure("rediss://h/insecure=on"));
}

TEST(Location, OneStoreHasOneIdentity) {
  EXPECT_EQ(identity_of("redis://user:pa55@h/"), identity_of("redis://user@h/"));
  EXPECT_NE(identity_of("redis://user@h/"), identity_of("redis://user@other/"));
  const support::TempFolder folder;
  const auto file = (folder.path() / "a b.db").string();
  std::ofstream(file) << "";
  const auto encoded = (folder.path() / "a%20b.db").string();
  EXPECT_EQ(identity_of("sqlite:" + encoded), identity_of("sqlite://" + encoded));
  std::filesystem::create_symlink(file, folder.path() / "link.db");
  EXPECT_EQ(identity_of("sqlite:" + (folder.path() / "link.db").string()),
            identity_of("sqlite:" + encoded));
  EXPECT_NE(identity_of("sqlite:" + encoded + "?prefix=a"), identity_of("sqlite:" + encoded));
}

TEST(Location, ThePasswordIsOverwrittenWhereItStands) {
  std::vector<std::string> words = {"holdfast",
                                    "run",
                                    "--store",
                                    "redis://user:pa55@h/",
                                    "--store=redis://:secret@h",
                                    "--store=redis+sentinel://h/m?sentinel_password=no&db=1",
                                    "x",
                                    "--",
                                    "redis://user:mine@h"};
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  conceal_password(arguments);
  EXPECT_EQ(words[3], "redis://user:****@h/");
  EXPECT_EQ(words[4], "--store=redis://:******@h");
  EXPECT_EQ(words[5], "--store=redis+sentinel://h/m?sentinel_password=**&db=1");
  EXPECT_EQ(words[8], "redis://user:mine@h")
      << "the command's own arguments are not ours to change";
}

}  // namespace
}  // namespace holdfast::cli
