#include "cli/lab.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/failure.hpp"

namespace holdfast::cli {

int lab(const Options& options) {
  std::error_code none;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", none);
  const auto program = self.parent_path() / "holdfast-lab";
  ::execv(program.c_str(), options.command.data());
  const int code = errno == ENOENT ? exit_code::not_found : exit_code::not_executable;
  throw Failure{code, "no_lab",
                "the laboratory cannot be started: " + program.string() + ": " +
                    std::strerror(errno) + "; it is built and installed beside holdfast"};
}

}  // namespace holdfast::cli
