// Goal: output that cannot be written is reported, with an exit status of its own, and watch ends
// when nobody reads it any more.
#include "cli.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <system_error>
#include <utility>

namespace holdfast::cli_test {
namespace {

struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category());
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_reader() { ::close(std::exchange(ends[0], -1)); }
  void close_writer() { ::close(std::exchange(ends[1], -1)); }
  int ends[2];
};

class Output : public Cli {
 protected:
  Outcome with(const Words& words, std::function<void()> before_exec) {
    auto planned = plan(words);
    planned.before_exec = std::move(before_exec);
    return Running(planned).wait();
  }
  // Watches into the pipe; only the test has its other end.
  std::unique_ptr<Running> watch_into(Pipe& pipe, void (*on_signal)(int)) {
    auto planned = plan({"watch", "x"});
    planned.before_exec = [&pipe, on_signal] {
      ::signal(SIGPIPE, on_signal);
      ::dup2(pipe.ends[1], STDOUT_FILENO);
    };
    auto watch = std::make_unique<Running>(planned);
    pipe.close_writer();
    return watch;
  }
};

const std::vector<Words> printers = {
    {"ls"},      {"ls", "--json"},      {"show", "x"},  {"show", "--json", "x"},
    {"watch"},   {"watch", "--json"},   {"break", "x"}, {"break", "--json", "x"},
    {"init"},    {"init", "--json"},    {"help"},       {"help", "run"},
    {"version"}, {"version", "--json"}, {"--version"},  {"run", "--help"}};

TEST_F(Output, ThatCannotBeWrittenIsTold) {
  const auto holder = start({"run", "y", "--", "sleep", "1000"});
  ASSERT_TRUE(holder->line().starts_with("acquired"));
  const std::pair<const char*, std::function<void()>> troubles[] = {
      {"No space left", [] { ::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), STDOUT_FILENO); }},
      {"Bad file descriptor", [] { ::close(STDOUT_FILENO); }},
      {"Broken pipe", [] {
         Pipe pipe;
         ::signal(SIGPIPE, SIG_IGN);
         ::dup2(pipe.ends[1], STDOUT_FILENO);
       }}};
  for (const auto& [why, trouble] : troubles) {
    for (const Words& words : printers) {
      const auto outcome = with(words, trouble);
      EXPECT_EQ(outcome.code, 74) << words.front() << ": " << why;
      EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
      EXPECT_NE(outcome.err.find(why), std::string::npos) << words.front() << ": " << outcome.err;
    }
  }
}

TEST_F(Output, OfAWatchThatIsNotReadAnyMoreEndsIt) {
  Pipe deaf, usual;
  const auto told = watch_into(deaf, SIG_IGN);
  const auto ended = watch_into(usual, SIG_DFL);
  const auto holder = start({"run", "x", "--", "sleep", "1000"});
  ASSERT_TRUE(holder->line().starts_with("acquired"));
  for (Pipe* pipe : {&deaf, &usual}) {
    char first = 0;
    EXPECT_EQ(::read(pipe->ends[0], &first, 1), 1);
    pipe->close_reader();
  }
  const auto outcome = told->wait();
  EXPECT_EQ(outcome.code, 74);
  EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
  EXPECT_EQ(ended->wait().code, -SIGPIPE);
}

TEST_F(Output, OfAWatchIsMissedThoughThereWasNone) {
  Pipe pipe;
  const auto watch = watch_into(pipe, SIG_IGN);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(path("locks.db")); }));
  pipe.close_reader();
  EXPECT_EQ(watch->wait().code, 74);
}

}  // namespace
}  // namespace holdfast::cli_test
