#include "cli/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

// An errno, or 0.
int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd full{descriptor, POLLOUT, 0};
      ::poll(&full, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Failure not_written(int error) {
  return {exit_code::output, "output",
          std::string("the output cannot be written: ") + std::strerror(error)};
}

// Requests no events, so poll returns only when no reader is left.
bool loses_reader_within(Millis pause) noexcept {
  pollfd out{STDOUT_FILENO, 0, 0};
  return ::poll(&out, 1, static_cast<int>(pause.count())) == 1;
}

}  // namespace

void print(std::string_view text) {
  if (const int error = write_all(STDOUT_FILENO, text)) throw not_written(error);
}

void rest_while_read(Millis pause) {
  if (!loses_reader_within(pause)) return;
  ::raise(SIGPIPE);
  throw not_written(EPIPE);
}

bool is_read() noexcept { return !loses_reader_within(Millis(0)); }

void write_briefly(int descriptor, std::string_view line) noexcept {
  pollfd room{descriptor, POLLOUT, 0};
  if (::poll(&room, 1, 50) == 1 && (room.revents & POLLOUT) != 0) write_all(descriptor, line);
}

void complain(std::string_view text) {
  write_briefly(STDERR_FILENO, "holdfast: " + escaped(text) + "\n");
}

void complain(const Failure& failure, bool json) {
  if (!json) return complain(failure.text);
  JsonObject object;
  object.text("error", failure.reason).number("exit", failure.code).text("message", failure.text);
  write_briefly(STDERR_FILENO, object.str() + "\n");
}

void show_status(std::string_view text) {
  constexpr std::string_view clear_line = "\r\033[K";
  const auto line = text.empty() ? std::string() : "holdfast: " + escaped(text, 200);
  write_briefly(STDERR_FILENO, std::string(clear_line) + line);
}

bool is_terminal(int descriptor) noexcept { return ::isatty(descriptor) == 1; }

}  // namespace holdfast::cli
