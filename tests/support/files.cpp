#include "support/files.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace holdfast::support {

TempFolder::TempFolder() {
  auto pattern = (std::filesystem::temp_directory_path() / "holdfast-test-").string();
  pattern.append(6, 'X');  // what mkdtemp replaces
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), "no temporary folder " + pattern);
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

long own_status(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field) && line[field.size()] == ':')
      return std::stol(line.substr(field.size() + 1));
  }
  throw std::runtime_error("no such line in /proc/self/status: " + std::string(field));
}

long open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<long>(std::distance(begin(all), end(all)));
}

}  // namespace holdfast::support
