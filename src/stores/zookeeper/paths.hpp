// stores/zookeeper/paths.hpp: where things lie.
//
//   CHROOT/holdfast/1/locks/NAME/CHILD    NAME percent-encoded, one node a lock; layout.hpp: CHILD
//   CHROOT/holdfast/1/cells/NAME
//   CHROOT/holdfast/1/clock               written to, to be told the servers' time
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::stores::zookeeper {

bool is_path(std::string_view path);  // absolute, and one that ZooKeeper takes

class Paths {
 public:
  explicit Paths(std::string_view chroot) : root_(std::string(chroot) + "/holdfast/1") {}

  std::string locks() const { return root_ + "/locks"; }
  std::string cells() const { return root_ + "/cells"; }
  std::string clock() const { return root_ + "/clock"; }
  std::string lock(std::string_view name) const { return encoded("/locks/", name); }
  std::string cell(std::string_view name) const { return encoded("/cells/", name); }

 private:
  std::string encoded(std::string_view folder, std::string_view name) const;
  const std::string root_;
};

// The name whose lock's last part of the path this is, if it is one.
std::optional<std::string> name_of(std::string_view part);

}  // namespace holdfast::stores::zookeeper
