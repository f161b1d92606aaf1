// stores/zookeeper/paths.hpp: where our nodes are.
//
//   CHROOT/holdfast/1/locks/NAME/CHILD    NAME percent-encoded, one node a lock; layout.hpp: CHILD
//   CHROOT/holdfast/1/cells/NAME
//   CHROOT/holdfast/1/clock               a write to it tells the servers' time
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::stores::zookeeper {

bool is_path(std::string_view path);  // an absolute path that ZooKeeper accepts

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

// The name whose lock's path ends in `part`; nullopt if we would never write that part.
std::optional<std::string> name_of(std::string_view part);

}  // namespace holdfast::stores::zookeeper
