// Goal: what is printed is true, on one line an entry, and valid JSON for any bytes in a name.
#include "cli.hpp"

#include <csignal>

namespace holdfast::cli_test {
namespace {

class Inspect : public Cli {
 protected:
  std::unique_ptr<Running> hold(const std::string& name) {
    auto run = start({"run", name, "--", "sleep", "1000"});
    EXPECT_TRUE(run->line().starts_with("acquired"));
    return run;
  }
  // By another's parser: prints what `expression` makes of the JSON in `data`.
  std::string parsed(const std::string& json, const std::string& expression) {
    write("json", json);
    auto judge = plan(
        {"run", "judge", "--", "python3", "-c",
         "import json, urllib.parse\ndata = json.load(open('json', encoding='utf-8'))\nprint(" +
             expression + ")"});
    return Running(judge).wait().out;
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
  const auto json = holdfast({"ls", "--json"}).out;
  EXPECT_EQ(
      parsed(json, "type(data[0]['token']).__name__, int(data[0]['token']) > 0, data[0]['state']"),
      "str True holds\n");
  EXPECT_EQ(parsed(holdfast({"show", "--json", "x"}).out,
                   "data['held'], len(data['holders']), data['waiting']"),
            "True 1 []\n");
  EXPECT_EQ(parsed(holdfast({"--json", "show", "y"}).out, "data['held']"), "False\n");
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
    write("name", name);
    const auto same = parsed(holdfast({"show", "--json", name}).out,
                             "urllib.parse.unquote_to_bytes(data['holders'][0]['name_encoded']) == "
                             "open('name', 'rb').read()");
    EXPECT_EQ(same, "True\n");
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
  EXPECT_EQ(parsed(outcome.out, "data['done'], len(data['holders'])"), "revoked 1\n");
  EXPECT_EQ(lines_in(outcome.err), 1U);
  EXPECT_NE(outcome.err.find("@"), std::string::npos) << outcome.err;
  EXPECT_EQ(holder->wait().code, 76);

  auto other = hold("y");
  const auto forced = holdfast({"break", "y", "--force"});
  EXPECT_NE(forced.out.find("granted at once"), std::string::npos) << forced.out;
  EXPECT_EQ(other->wait().code, 76);
}

TEST_F(Inspect, InitVersionAndHelp) {
  EXPECT_EQ(holdfast({"init"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("locks.db")));
  EXPECT_EQ(parsed(holdfast({"init", "--json"}).out, "data['ready']"), "True\n");
  EXPECT_TRUE(holdfast({"version"}).out.starts_with("holdfast "));
  EXPECT_TRUE(holdfast({"--version"}).out.starts_with("holdfast "));
  EXPECT_EQ(parsed(holdfast({"version", "--json"}).out, "len(data['version'].split('.'))"), "3\n");
  const auto help = holdfast({"help"});
  EXPECT_EQ(help.code, 0);
  for (const auto& word : {"run", "ls", "show", "break", "watch", "init", "version", "75 busy"})
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  EXPECT_EQ(holdfast({"run", "--help"}).out, holdfast({"help", "run"}).out);
  EXPECT_EQ(holdfast({"-h"}).out, help.out);
}

}  // namespace
}  // namespace holdfast::cli_test
