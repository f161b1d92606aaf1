// Goal: the output is true, has one line per entry, and is valid JSON for any bytes in a name.
#include "cli.hpp"

#include <sqlite3.h>

#include <csignal>
#include <fstream>
#include <stdexcept>

namespace holdfast::cli_test {
namespace {

// What a foreign parser finds at `path`: the JSON functions of SQLite. Throws if it is not JSON.
std::string judged(const char* sql, const std::string& json, const std::string& path) {
  sqlite3* judge = nullptr;
  sqlite3_stmt* query = nullptr;
  sqlite3_open(":memory:", &judge);
  sqlite3_prepare_v2(judge, sql, -1, &query, nullptr);
  sqlite3_bind_text(query, 1, json.data(), static_cast<int>(json.size()), SQLITE_STATIC);
  sqlite3_bind_text(query, 2, path.data(), static_cast<int>(path.size()), SQLITE_STATIC);
  const bool found = sqlite3_step(query) == SQLITE_ROW;
  const auto* text = found ? sqlite3_column_text(query, 0) : nullptr;
  std::string answer = text ? reinterpret_cast<const char*>(text) : "";
  sqlite3_finalize(query);
  sqlite3_close(judge);
  if (!found) throw std::runtime_error("not JSON: " + json);
  return answer;
}
std::string value_in(const std::string& json, const std::string& path) {
  return judged("SELECT json_extract(?1, ?2)", json, path);
}
std::string type_in(const std::string& json, const std::string& path) {
  return judged("SELECT json_type(?1, ?2)", json, path);
}

std::string percent_decoded(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%';
    bytes.push_back(coded ? static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16))
                          : text[i]);
    if (coded) i += 2;
  }
  return bytes;
}

class Inspect : public Cli {
 protected:
  std::unique_ptr<Running> hold(const std::string& name) {
    auto run = start({"run", name, "--", "sleep", "1000"});
    EXPECT_TRUE(run->line().starts_with("acquired"));
    return run;
  }
};

TEST_F(Inspect, ListsHoldersAndWaiters) {
  auto holder = hold("orders/42");
  auto waiter = start({"run", "orders/42", "--", "true"});
  EXPECT_EQ(waiter->line(), "waiting");
  EXPECT_TRUE(eventually([&] { return lines_in(holdfast({"ls"}).out) == 3; }));
  const auto text = holdfast({"ls"}).out;
  EXPECT_TRUE(text.starts_with("NAME")) << text;
  EXPECT_NE(text.find("holds"), std::string::npos);
  EXPECT_NE(text.find("waits"), std::string::npos);
  EXPECT_NE(text.find("sleep"), std::string::npos) << "no label: " << text;
  EXPECT_EQ(lines_in(holdfast({"ls", "orders/"}).out), 3U);
  EXPECT_EQ(lines_in(holdfast({"ls", "else"}).out), 1U);
  EXPECT_EQ(lines_in(holdfast({"show", "orders/42"}).out), 3U);
  EXPECT_EQ(holdfast({"show", "orders"}).out, "'orders' is free\n");
}

TEST_F(Inspect, TokensAreStringsInJson) {
  auto holder = hold("x");
  const auto all = holdfast({"ls", "--json"}).out;
  EXPECT_EQ(type_in(all, "$[0].token"), "text");
  EXPECT_GT(std::stoull(value_in(all, "$[0].token")), 0U);
  EXPECT_EQ(value_in(all, "$[0].state"), "holds");
  const auto held = holdfast({"show", "--json", "x"}).out;
  EXPECT_EQ(type_in(held, "$.held"), "true");
  EXPECT_EQ(value_in(held, "$.holders[0].token"), value_in(all, "$[0].token"));
  EXPECT_EQ(value_in(held, "$.waiting"), "[]");
  EXPECT_EQ(type_in(holdfast({"--json", "show", "y"}).out, "$.held"), "false");
}

TEST_F(Inspect, VerboseTellsWhatTheStoreSaysOfItself) {
  EXPECT_EQ(holdfast({"show", "x"}).out, "'x' is free\n");
  const auto text = holdfast({"show", "--verbose", "x"}).out;
  EXPECT_TRUE(text.starts_with("'x' is free\n\nstore ")) << text;
  EXPECT_NE(text.find("\nfile "), std::string::npos) << text;
  EXPECT_NE(text.find("/locks.db"), std::string::npos) << text;
  EXPECT_NE(text.find("wal"), std::string::npos) << text;
  const auto json = holdfast({"show", "--verbose", "--json", "x"}).out;
  EXPECT_EQ(type_in(json, "$.held"), "false");
  EXPECT_EQ(value_in(json, "$.facts[1].word"), "journal");
  EXPECT_TRUE(value_in(json, "$.facts[1].text").starts_with("wal"));
  EXPECT_TRUE(value_in(json, "$.store").starts_with("sqlite:"));
  EXPECT_EQ(type_in(holdfast({"show", "--json", "x"}).out, "$.facts"), "");
  // A store without facts.
  EXPECT_EQ(holdfast({"show", "x", "--verbose", "--store", "memory:"}).out,
            "'x' is free\n\nstore  memory:\n");
  EXPECT_EQ(holdfast({"ls", "--verbose"}).code, 64);
}

TEST_F(Inspect, AnyNameComesBackByteForByte) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  for (const auto& name :
       {all, std::string("\xff\xfe"), std::string("a\nb\r\n\x1b[31m"),
        std::string("%s%n $(x) \\ \" '"), std::string("\xf0\x9f\x94\x92 caf\xc3\xa9 \xe2\x80\xae"),
        std::string(512, '\xc3')}) {
    auto holder = hold(name);
    const auto text = holdfast({"ls"}).out;
    EXPECT_EQ(lines_in(text), 2U) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    const auto json = holdfast({"show", "--json", name}).out;
    EXPECT_EQ(percent_decoded(value_in(json, "$.holders[0].name_encoded")), name);
    holder->signal(SIGTERM);
    holder->wait();
  }
}

TEST_F(Inspect, NamesThatDifferInOneByteAreTwoLocks) {
  auto holder = hold("x");
  for (const auto& other : {"X", "x ", " x", "x\t", "x/", "%78"})
    EXPECT_EQ(holdfast({"run", "--no-wait", other, "--", "true"}).code, 0) << other;
}

TEST_F(Inspect, WatchTellsEachChangeInOneLine) {
  Running watch(plan({"watch", "--json", "x"}));
  const auto told = [&](const std::string& change) {
    return eventually([&] {
      std::string all;
      for (const auto& file : std::filesystem::directory_iterator(folder_.path()))
        if (file.path().filename().string().starts_with("out."))
          all += read(file.path().filename().string());
      return all.find("{\"change\":\"" + change + "\",\"name\":\"x\"") != std::string::npos;
    });
  };
  auto holder = hold("x");
  EXPECT_TRUE(told("holds"));
  holder->signal(SIGTERM);
  holder->wait();
  EXPECT_TRUE(told("ended"));
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.wait().code, -SIGTERM);
}

TEST_F(Inspect, BreakSaysWhatItDidAndWhoDidIt) {
  EXPECT_EQ(holdfast({"break", "x"}).out, "'x' is not held; nothing was done\n");
  auto holder = hold("x");
  const auto outcome = holdfast({"break", "--json", "x"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(value_in(outcome.out, "$.done"), "revoked");
  EXPECT_EQ(value_in(outcome.out, "$.holders[0].name"), "x");
  EXPECT_EQ(lines_in(outcome.err), 1U);
  EXPECT_NE(outcome.err.find('@'), std::string::npos) << outcome.err;
  EXPECT_EQ(holder->wait().code, 76);

  auto other = hold("y");
  const auto forced = holdfast({"break", "y", "--force"});
  EXPECT_NE(forced.out.find("granted at once"), std::string::npos) << forced.out;
  EXPECT_EQ(other->wait().code, 76);
}

TEST_F(Inspect, InitTellsWhatIsInItsWay) {
  std::ofstream(path("notes.txt")) << std::string(4096, 'x');
  const auto refused = holdfast({"init", "--store", "sqlite:" + path("notes.txt")});
  EXPECT_EQ(refused.code, 78);
  EXPECT_EQ(lines_in(refused.err), 1U);
  EXPECT_NE(refused.err.find("notes.txt"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.out, "");
}

TEST_F(Inspect, InitVersionAndHelp) {
  EXPECT_EQ(holdfast({"init"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("locks.db")));
  EXPECT_EQ(type_in(holdfast({"init", "--json"}).out, "$.ready"), "true");
  EXPECT_EQ(holdfast({"init", "--new"}).code, 0);  // without a terminal nobody is asked
  EXPECT_TRUE(holdfast({"version"}).out.starts_with("holdfast "));
  EXPECT_TRUE(holdfast({"--version"}).out.starts_with("holdfast "));
  EXPECT_EQ(holdfast({"version"}).out,
            "holdfast " + value_in(holdfast({"version", "--json"}).out, "$.version") + "\n");
  const auto help = holdfast({"help"});
  EXPECT_EQ(help.code, 0);
  for (const auto& word : {"run", "ls", "show", "break", "watch", "init", "version", "75 busy"})
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  EXPECT_EQ(holdfast({"run", "--help"}).out, holdfast({"help", "run"}).out);
  EXPECT_EQ(holdfast({"-h"}).out, help.out);
}

}  // namespace
}  // namespace holdfast::cli_test
