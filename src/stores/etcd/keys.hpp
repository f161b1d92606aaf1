// stores/etcd/keys.hpp: where a name lives, and what is written there.
//
//   holdfast/1/locks/NAME/LEASE         a claim, bound to that lease; NAME is percent-encoded
//   holdfast/1/locks/NAME/LEASE.delay   its holder wants a lock_delay if it dies; bound to a second
//                                       lease, which lasts longer by that delay
//   holdfast/1/cells/NAME
//
// dialect=etcd: NAME/LEASE, as etcdctl and the Go package have it: empty, and NAME verbatim.
//
// A lease that is used again brings its key: to list a name, etcd passes every key that was ever
// there, until it is compacted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/common/line.hpp"
#include "stores/etcd/wire.hpp"

namespace holdfast::stores::etcd {

// A claim, as it is written down.
struct Standing {
  std::string key{};
  ClaimId claim{};  // with a dialect it is not written
  Shape shape{};
  bool revoked = false;  // its holder was told to let go
  std::string about{};
  std::int64_t created = 0;   // its create revision: its place, and its number
  std::int64_t modified = 0;  // its mod revision
  std::int64_t lease = 0;
};

// What stands under one name.
struct Row {
  std::vector<Standing> line;       // in the order of their create revisions
  std::vector<std::string> delays;  // claims' keys: of those who are in the line, and who died
  bool foreign = false;             // something here was written by a newer version

  std::optional<std::size_t> place_of(std::string_view key) const noexcept;
  // A holder died, and its lock_delay is not over.
  bool delayed() const noexcept;
  // How many of the first hold it. Whoever came before a holder died still does; of those who want
  // the whole, none can have been in beside it.
  std::size_t in() const noexcept;
};

class Layout {
 public:
  explicit Layout(bool dialect) noexcept : dialect_(dialect) {}

  bool delays() const noexcept { return !dialect_; }
  std::string prefix(std::string_view name) const;  // of all its keys, with the "/" at the end
  std::string key(std::string_view prefix, std::int64_t lease) const;
  std::string key_end(std::string_view key) const;  // of the claim's key, and its delay's
  std::string write(const Standing& standing) const;
  bool says_revoked(std::string_view value) const;

  // What stands in these keys; what is not of ours is ignored. In order.
  Row read(std::string_view prefix, const std::vector<KeyValue>& all) const;

  // What all keys begin with whose name begins with this.
  std::string all(std::string_view name_prefix) const;
  // What the keys of one name begin with, of a key that all() found; empty if it is not one.
  std::string prefix_in(const KeyValue& kv) const;
  std::optional<std::string> name_in(std::string_view prefix) const;

 private:
  void read(std::string_view prefix, const KeyValue& kv, Row& row) const;

  bool dialect_;
};

std::string delay_key(std::string_view claim_key);
std::string write_delay(Millis delay);
std::string cell_key(std::string_view name);

// The end of the range of all keys that begin with this.
std::string end_of(std::string_view prefix);

}  // namespace holdfast::stores::etcd
