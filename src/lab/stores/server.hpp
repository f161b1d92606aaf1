// lab/stores/server.hpp: one node of a site, and its data.
#pragma once

#include <map>

#include "lab/stores/site.hpp"
#include "stores/common/cell.hpp"

namespace holdfast::lab {

struct Knowledge {
  std::vector<core::Admission> lines;  // one per lock
  std::map<std::string, stores::CellState, std::less<>> cells;
  std::uint64_t last_version = 0;  // of any cell

  void forget() {
    lines.assign(lines.size(), {});
    cells.clear();
    last_version = 0;
  }
};

struct Site::Server final : Node {
  using Node::Node;

  Knowledge known;
  Knowledge durable;  // what a crash leaves if it loses the tail
  bool snapshot_due = false;
  Time follows_until{0};  // a replica has applied by then what it was sent so far
  std::uint64_t stream = 0;
  std::vector<bool> watched;  // lines that have a timer for their next expiry
};

}  // namespace holdfast::lab
