// stores/zookeeper/layout.hpp: how a claim is written as a node, and read again.
//
// In our own layout a child of a lock's node is CLAIM-rCAPACITY-WEIGHT-SEQUENCE (m, r or s for the
// kind). Its name has everything that decides, so one list of children is enough. Or the child is a
// marker, CLAIM-delay-MILLISECONDS, which outlives a claim whose holder died; its data is the
// timeout of the holder's session. Every other child is foreign and does not count.
//
// A dialect is the layout of another library's locks (dialects.cpp). There a name is a path, and
// that library decides which other children count, and in which order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/backend.hpp"
#include "stores/common/line.hpp"
#include "stores/zookeeper/note.hpp"
#include "stores/zookeeper/options.hpp"
#include "stores/zookeeper/paths.hpp"

namespace holdfast::stores::zookeeper {

struct Child {
  std::string name;
  ClaimId claim{};
  Shape shape{};
  std::int32_t sequence = 0;
  std::string order{};  // dialects sort by this
};
struct Marker {
  std::string name;
  ClaimId claim{};
  Millis delay{};
};

class Layout {
 public:
  static std::unique_ptr<const Layout> of(const Options& options, const Paths& paths);
  virtual ~Layout() = default;

  // The path of a lock's node; nullopt if this layout has none for that name.
  virtual std::optional<std::string> lock(std::string_view name) const = 0;
  virtual bool contained() const = 0;  // the servers delete that node once it is empty

  virtual std::string stem(const ClaimId& claim, const Shape& shape) const = 0;  // + the sequence
  virtual std::optional<Child> read(std::string_view name) const = 0;
  virtual void sort(std::vector<Child>& claims) const = 0;
  // The same claim at the same place in line, with another weight.
  virtual std::string reshaped(const Child& child, const Shape& shape) const = 0;

  virtual std::string marker(const ClaimId&, Millis) const { return {}; }  // empty: there is none
  virtual std::optional<Marker> read_marker(std::string_view) const { return std::nullopt; }

  virtual Token token(std::int64_t number) const = 0;
  virtual std::string written(const Note& note) const = 0;
  virtual Note read_note(std::string_view data) const = 0;
};

// What others see. The czxid of a claim's first node is its number; a later node's note says it.
Holder describe(const Layout& layout, const std::string& name, const Child& child,
                std::int64_t czxid, std::string_view data);

// What the layouts share.
std::optional<ClaimId> take_claim(std::string_view& rest);  // removes 32 hex digits in front
std::string with_sequence(std::string stem, std::int32_t sequence);  // as ZooKeeper writes it
std::unique_ptr<const Layout> curator_layout(std::string chroot);
std::unique_ptr<const Layout> kazoo_layout(std::string chroot);

}  // namespace holdfast::stores::zookeeper
