// stores/zookeeper/folders.hpp: nodes that contain other nodes.
#pragma once

#include <memory>
#include <string>

#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/task.hpp"

namespace holdfast::stores::zookeeper {

// Creates a node and what is missing above it. Servers that know containers delete an empty one by
// themselves. ZOK: it is there now.
Task<int> make_path(std::string path, Node kind, std::shared_ptr<Session> session);

}  // namespace holdfast::stores::zookeeper
