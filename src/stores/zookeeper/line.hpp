// stores/zookeeper/line.hpp: who of those before one name is let in, and whom the others watch.
//
// Pure: the children of a lock's node come in, a verdict goes out. All who look at the same list
// come to the same verdict, and an older list never lets in more: whoever stands before us was
// there before us. So a reader of stale lists errs on the safe side.
//
// The claims stand in the order of their sequence; stores/common/line.hpp has the rule.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stores/zookeeper/layout.hpp"

namespace holdfast::stores::zookeeper {

struct Line {
  std::vector<Child> claims;    // in order
  std::vector<Marker> orphans;  // markers whose claim is gone: their holder died

  Line(std::span<const std::string> children, const Layout& layout);

  const Child* find(const ClaimId& claim) const;
};

struct Verdict {
  enum class What : std::uint8_t {
    granted,
    waits,    // for one of those in `watch` to change
    misfit,   // it is in use as another kind, or with another capacity
    missing,  // it is not there
  };
  What what{};
  std::vector<std::string> watch{};
  bool heard = false;  // those behind watch it, and have to be told that it is granted
};

Verdict judge(const Line& line, std::string_view mine);

}  // namespace holdfast::stores::zookeeper
