#include "stores/zookeeper/paths.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace holdfast::stores::zookeeper {
namespace {

// ZooKeeper refuses "." and ".." as parts of a path.
std::string as_part(std::string_view name) {
  if (name == ".") return "%2E";
  if (name == "..") return "%2E%2E";
  std::string part;
  part.reserve(name.size());
  core::append_encoded(part, name);
  return part;
}

bool is_plain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c < 0x7f; }

}  // namespace

bool is_path(std::string_view path) {
  if (!path.starts_with('/') || path == "/zookeeper" || path.starts_with("/zookeeper/"))
    return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == ".." || !std::ranges::all_of(part, is_plain))
      return false;
    path.remove_prefix(part.size());
  }
  return true;
}

std::string Paths::encoded(std::string_view folder, std::string_view name) const {
  std::string path = root_;
  path += folder;
  return path += as_part(name);
}

std::optional<std::string> name_of(std::string_view part) {
  auto name = core::percent_decoded(part);
  if (!name || as_part(*name) != part) return std::nullopt;
  return name;
}

}  // namespace holdfast::stores::zookeeper
