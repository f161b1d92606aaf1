#include "cli/run/program.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "cli/failure.hpp"
#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

enum class Found { no, not_executable, yes };

Found look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return Found::no;
  const bool runs =
      S_ISREG(status.st_mode) && ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
  return runs ? Found::yes : Found::not_executable;
}

Failure cannot_run(const std::string& name, Found found) {
  const auto shown = "'" + escaped(name, 256) + "'";
  if (found == Found::no)
    return {exit_code::not_found, "not_found",
            "command " + shown + " was not found; nothing was locked"};
  return {exit_code::not_executable, "not_executable",
          "command " + shown + " is not an executable file; nothing was locked"};
}

}  // namespace

std::string find_program(const std::string& name) {
  auto best = Found::no;
  if (name.find('/') != name.npos) {
    best = look_at(name);
    if (best == Found::yes) return name;
    throw cannot_run(name, best);
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/bin:/usr/bin";
  for (bool more = true; more;) {
    const auto colon = rest.find(':');
    more = colon != rest.npos;
    auto folder = std::string(rest.substr(0, colon));
    rest.remove_prefix(more ? colon + 1 : rest.size());
    auto candidate = (folder.empty() ? "." : folder) + "/" + name;
    const auto found = look_at(candidate);
    if (found == Found::yes) return candidate;
    if (found == Found::not_executable) best = found;
  }
  throw cannot_run(name, best);
}

}  // namespace holdfast::cli
