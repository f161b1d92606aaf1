#include "lab/program/program.hpp"

#include <fcntl.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <clocale>
#include <cstring>

#include "cli/output.hpp"
#include "cli/text.hpp"

namespace holdfast::lab::program {

cli::Failure bad_usage(std::string text) {
  return {cli::exit_code::usage, "usage", std::move(text)};
}

std::uint64_t seed_of(std::string_view word) {
  const bool hexadecimal = word.starts_with("0x");
  const auto digits = word.substr(hexadecimal ? 2 : 0);
  const auto end = digits.data() + digits.size();
  std::uint64_t seed = 0;
  const auto [rest, error] = std::from_chars(digits.data(), end, seed, hexadecimal ? 16 : 10);
  if (error != std::errc() || rest != end)
    throw bad_usage("seed '" + cli::escaped(word, 64) +
                    "' is not a number; write 0 to 18446744073709551615, or 0x and hex digits");
  return seed;
}

Shown::Shown(const exhibits::Exhibit& exhibit)
    : performance(exhibits::perform(exhibit)),
      verdict(exhibits::judge(performance.history)),
      picture{performance.history, performance.cast, std::string(exhibit.title)} {
  picture.outcome = verdict.text(performance.cast) + " · " + std::to_string(verdict.commands) +
                    " commands, " + std::to_string(verdict.grants) +
                    (verdict.grants == 1 ? " grant" : " grants");
  picture.marks = verdict.marks(performance.cast);
}

draw::Style style_of_terminal() {
  draw::Style style;
  std::setlocale(LC_CTYPE, "");
  style.utf8 = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  if (!cli::is_terminal(STDOUT_FILENO)) return style;
  const char* const refused = std::getenv("NO_COLOR");
  style.colours = !refused || *refused == '\0';
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
    style.width = std::clamp<std::size_t>(size.ws_col, 60, 160);
  return style;
}

void write_file(const std::string& path, std::string_view text) {
  const auto refuse = [&](int error) {
    return cli::Failure{cli::exit_code::cannot_create, "cannot_create",
                        "cannot write '" + cli::escaped(path, 512) + "': " + std::strerror(error) +
                            "; name a file in a folder that exists and is yours"};
  };
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file == -1) throw refuse(errno);
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      error = errno;
  }
  if (::close(file) == -1 && error == 0) error = errno;
  if (error != 0) throw refuse(error);
}

}  // namespace holdfast::lab::program
