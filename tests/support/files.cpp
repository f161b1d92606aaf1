#include "support/files.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace holdfast::support {

namespace {

// In memory where possible, because leases must not depend on how long a busy disk takes to sync.
// TMPDIR overrides this; the SQLite tests in tests/stores use the disk (sqlite_support.hpp).
std::filesystem::path base_folder() {
  constexpr auto in_memory = "/dev/shm";
  struct statfs about {};
  const bool is_tmpfs = statfs(in_memory, &about) == 0 && about.f_type == TMPFS_MAGIC;
  if (is_tmpfs && access(in_memory, W_OK) == 0 && getenv("TMPDIR") == nullptr) return in_memory;
  return std::filesystem::temp_directory_path();
}

}  // namespace

TempFolder::TempFolder() {
  auto pattern = (base_folder() / "holdfast-test-").string();
  pattern.append(6, 'X');  // what mkdtemp replaces
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), "no temporary folder " + pattern);
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

long status_of(pid_t process, std::string_view field) {
  const std::string path = "/proc/" + std::to_string(process) + "/status";
  std::ifstream status(path);
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field) && line[field.size()] == ':')
      return std::stol(line.substr(field.size() + 1));
  }
  throw std::runtime_error("no such line in " + path + ": " + std::string(field));
}

long own_status(std::string_view field) { return status_of(::getpid(), field); }

long open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<long>(std::distance(begin(all), end(all)));
}

}  // namespace holdfast::support
