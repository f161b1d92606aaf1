#include "stores/zookeeper/folders.hpp"

#include <algorithm>

namespace holdfast::stores::zookeeper {

// Starts at the lowest node, because we may have no right to create the nodes above it, and usually
// they exist.
Task<int> make_path(std::string path, Node kind, std::shared_ptr<Session> session) {
  std::size_t end = path.size();
  for (;;) {
    const bool last = end == path.size();
    const std::string part = path.substr(0, end);
    const Outcome made = co_await session->create(part, "", last ? kind : Node::persistent);
    if (made.rc == ZUNIMPLEMENTED && last && kind == Node::container) {
      kind = Node::persistent;
    } else if (made.rc == ZNONODE) {
      end = path.rfind('/', end - 1);
      if (end == 0 || end == path.npos) co_return made.rc;
    } else if (made.rc != ZOK && made.rc != ZNODEEXISTS) {
      co_return made.rc;
    } else if (last) {
      co_return ZOK;
    } else {
      end = std::min(path.find('/', end + 1), path.size());
    }
  }
}

}  // namespace holdfast::stores::zookeeper
