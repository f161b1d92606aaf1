// stores/zookeeper/line.hpp: whether a claim in a line is granted, and which nodes it watches if
// not.
//
// Pure: the children of a lock's node come in, a verdict goes out. Everybody who reads the same
// list reaches the same verdict. An older list never grants more, because a claim ahead of ours is
// older than ours and so was in that list too. So a stale list errs on the safe side.
//
// The claims are sorted by sequence; stores/common/line.hpp has the rule.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stores/zookeeper/layout.hpp"

namespace holdfast::stores::zookeeper {

struct Line {
  std::vector<Child> claims;    // in order
  std::vector<Marker> orphans;  // markers whose claim is gone: the holder died

  Line(std::span<const std::string> children, const Layout& layout);

  const Child* find(const ClaimId& claim) const;
};

struct Verdict {
  enum class What : std::uint8_t {
    granted,
    waits,    // until one of those in `watch` changes
    misfit,   // the name is in use as another kind, or with another capacity
    missing,  // it is not there
  };
  What what{};
  std::vector<std::string> watch{};
  bool heard = false;  // those behind watch it, and must see that it is granted
};

Verdict judge(const Line& line, std::string_view mine);

}  // namespace holdfast::stores::zookeeper
