// Goal: at a terminal, under a real shell with job control, the keyboard works: the command reads
// it, Ctrl-C ends the command, Ctrl-Z gives the shell back and fg continues.
#include "cli.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace holdfast::cli_test {
namespace {

class Terminal : public Cli {
 protected:
  void SetUp() override {
    shell_ = ::forkpty(&keyboard_, nullptr, nullptr, nullptr);
    if (shell_ != 0) return;
    ::setenv("HOLDFAST_STORE", store().c_str(), 1);
    ::setenv("PS1", "ready$ ", 1);
    ::setenv("TERM", "dumb", 1);
    ::unsetenv("HOLDFAST_HELD");
    if (::chdir(folder_.path().c_str()) == 0)
      ::execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", nullptr);
    ::_exit(99);
  }
  void TearDown() override {
    ::close(keyboard_);  // hangs up
    ::kill(shell_, SIGKILL);
    ::waitpid(shell_, nullptr, 0);
  }
  void type(const std::string& keys) const {
    ASSERT_EQ(::write(keyboard_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  // Reads the screen until `text` is on it; passed_ is what came before.
  bool shows(const std::string& text) {
    for (;;) {
      if (const auto at = screen_.find(text); at != std::string::npos) {
        passed_ = screen_.substr(0, at);
        screen_.erase(0, at + text.size());
        return true;
      }
      pollfd ready{keyboard_, POLLIN, 0};
      char part[1024];
      if (::poll(&ready, 1, static_cast<int>(patient.count())) != 1) return false;
      const auto length = ::read(keyboard_, part, sizeof part);
      if (length <= 0) return false;
      screen_.append(part, static_cast<std::size_t>(length));
    }
  }
  // The command waits in its read and has the terminal.
  bool reads() const {
    const auto command = pid_in("pid");
    return eventually(
        [&] { return ::tcgetpgrp(keyboard_) == command && state_of(command) == "S"; });
  }
  // The terminal echoes what is typed, so the shell has to compose what the test expects.
  void say(const std::string& word) const { type("echo sa''id-" + word + "\n"); }
  bool said(const std::string& word) { return shows("said-" + word); }

  int keyboard_ = -1;
  pid_t shell_ = -1;
  std::string screen_;
  std::string passed_;
};

TEST_F(Terminal, TheCommandReadsTheKeyboard) {
  type(binary + " run x -- sh -c 'echo u''p; read line; echo go''t-$line'\n");
  ASSERT_TRUE(shows("up"));
  type("hello\n");
  EXPECT_TRUE(shows("got-hello"));
  say("free");
  EXPECT_TRUE(said("free"));
}

TEST_F(Terminal, InAPipelineToo) {
  type(binary + " run x -- sh -c 'echo u''p >/dev/tty; read line; echo go''t-$line' | cat\n");
  ASSERT_TRUE(shows("up"));
  type("hello\n");
  EXPECT_TRUE(shows("got-hello"));
}

TEST_F(Terminal, AnInterruptEndsTheCommandAndGivesTheShellBack) {
  type(binary + " run x -- sh -c 'echo u''p; exec sleep 1000'\n");
  ASSERT_TRUE(shows("up"));
  type("\x03");
  type("echo status-$?\n");
  EXPECT_TRUE(shows("status-130"));
  EXPECT_EQ(holdfast({"run", "--no-wait", "x", "--", "true"}).code, 0);
}

TEST_F(Terminal, AnInterruptEndsAWait) {
  auto holder = start({"run", "x", "--", "sleep", "1000"});
  holder->line();
  type(binary + " run x -- true\n");
  ASSERT_TRUE(shows("waiting for 'x', held by"));
  type("\x03");
  type("echo status-$?\n");
  EXPECT_TRUE(shows("status-130"));
}

TEST_F(Terminal, AStopGivesTheShellBackAndForegroundContinues) {
  for (const auto& behind : {"", " | cat"}) {
    write("pid", "");
    type(binary + " run x -- sh -c 'echo $$ >pid; read line; echo go''t-$line'" + behind + "\n");
    ASSERT_TRUE(reads());
    type("\x1a");
    ASSERT_TRUE(shows("Stopped"));
    say("shell");
    ASSERT_TRUE(said("shell"));
    EXPECT_EQ(holdfast({"run", "--no-wait", "x", "--", "true"}).code, 75)
        << "a stopped job keeps its lock";
    type("fg\n");
    type("again\n");
    EXPECT_TRUE(shows("got-again"));
  }
}

TEST_F(Terminal, AScriptAroundItStopsToo) {
  write("script",
        binary + " run x -- sh -c 'echo u''p; read line; echo go''t-$line'\necho script-en''d\n");
  type("sh ./script\n");
  ASSERT_TRUE(shows("up"));
  type("\x1a");
  ASSERT_TRUE(shows("Stopped"));
  say("shell");
  ASSERT_TRUE(said("shell"));
  type("fg\n");
  type("again\n");
  EXPECT_TRUE(shows("got-again"));
  EXPECT_TRUE(shows("script-end"));
}

TEST_F(Terminal, InTheBackgroundItRunsAndCanBeBroughtBack) {
  type(binary + " run x -- sh -c 'echo u''p; read line; echo go''t-$line' &\n");
  ASSERT_TRUE(shows("up"));
  // Reading the keyboard stops it; the shell says so only when asked.
  ASSERT_TRUE(eventually([&] {
    type("echo $(jobs) as''ked\n");
    return shows("asked") && passed_.find("Stopped") != std::string::npos;
  }));
  type("fg\n");
  type("hello\n");
  EXPECT_TRUE(shows("got-hello"));
}

}  // namespace
}  // namespace holdfast::cli_test
