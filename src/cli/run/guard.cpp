// The guard: opens the store, waits for the lease, and hands it to Hold.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>

#include "cli/failure.hpp"
#include "cli/output.hpp"
#include "cli/run/hold.hpp"
#include "cli/run/waiting.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr Millis cancel_within = 50ms;  // twice: to leave the line, and to have it confirmed
constexpr Millis clear_up_within = 1s;

class Guard {
 public:
  Guard(const Job& job, int line)
      : job_(job), line_(line), store_(open(job.location.url).value()) {}
  int run();

 private:
  bool granted(Waiting& waiting);  // false: cancelled by signal_
  void read_line();
  int cancel(Waiting& waiting);

  const Job& job_;
  const int line_;
  const Store store_;
  bool paused_ = false;
  int signal_ = 0;
};

int Guard::run() {
  Waiting waiting(job_, store_);
  if (!granted(waiting)) return cancel(waiting);
  auto lease = waiting.result();
  if (!lease) {
    const auto failure = failure_of(lease.error());
    if (failure.code == exit_code::busy) tell(job_, "busy");
    throw failure;
  }
  return Hold(job_, line_, store_, std::move(*lease), paused_).run();
}

bool Guard::granted(Waiting& waiting) {
  for (;;) {
    pollfd news[] = {{line_, POLLIN, 0}, {waiting.descriptor(), POLLIN, 0}};
    ::poll(news, std::size(news), -1);
    if (news[0].revents != 0) read_line();
    if (signal_ != 0) return false;
    if (news[1].revents != 0) return true;
  }
}

void Guard::read_line() {
  Message message{};
  const auto length = ::recv(line_, &message, sizeof message, MSG_DONTWAIT);
  if (length == 0) signal_ = SIGKILL;  // what the supervisor died of, most likely
  if (length != sizeof message) return;
  if (message.number == SIGTSTP || message.number == SIGCONT) paused_ = message.number == SIGTSTP;
  if (ends_a_process(message.number)) signal_ = message.number;
}

int Guard::cancel(Waiting& waiting) {
  waiting.stop();
  pollfd over{waiting.descriptor(), POLLIN, 0};
  const int code = exit_code::by_signal + signal_;
  if (::poll(&over, 1, static_cast<int>(cancel_within.count())) == 1) {
    (void)waiting.result();  // a lease that came after all is released here
    if (store_.close(cancel_within)) return code;
  }
  // The store is slow: the user need not wait for what is left to do.
  send(line_, {Message::Kind::ended, code});
  (void)store_.close(clear_up_within);
  ::_exit(code);  // the thread that waits may still be inside
}

}  // namespace

int guard(Job& job, int line) {
  try {
    return Guard(job, line).run();
  } catch (const Failure& failure) {
    complain(failure, job.options.json);
    return failure.code;
  } catch (const Error& error) {
    const auto failure = failure_of(error);
    complain(failure, job.options.json);
    return failure.code;
  } catch (const std::exception& error) {
    complain({exit_code::internal, "internal", error.what()}, job.options.json);
    return exit_code::internal;
  }
}

}  // namespace holdfast::cli
