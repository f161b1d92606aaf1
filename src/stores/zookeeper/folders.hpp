// stores/zookeeper/folders.hpp: the nodes that others lie in.
#pragma once

#include <memory>
#include <string>

#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/task.hpp"

namespace holdfast::stores::zookeeper {

// Makes a node, and those above it, where they are missing. A container goes by itself when it is
// empty, where the server knows how. ZOK if it is there now.
Task<int> make_path(std::string path, Node kind, std::shared_ptr<Session> session);

}  // namespace holdfast::stores::zookeeper
