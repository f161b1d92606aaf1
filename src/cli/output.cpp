#include "cli/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

void write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd full{descriptor, POLLOUT, 0};
      ::poll(&full, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

void print(std::string_view text) noexcept { write_all(STDOUT_FILENO, text); }

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
