// stores/etcd/keys.hpp: where a name lives, and what is written there.
//
//   holdfast/1/locks/NAME/LEASE         a claim, bound to that lease; NAME is percent-encoded
//   holdfast/1/locks/NAME/LEASE.delay   written if its holder asked for a lock_delay; bound to a
//                                       second lease, which lasts longer by that delay
//   holdfast/1/cells/NAME
//
// dialect=etcd: NAME/LEASE, as etcdctl and the Go package write it: NAME verbatim, and no value.
//
// Leases are reused, and their keys with them, because until it is compacted, etcd walks through
// every key that a name ever had whenever it lists that name (decision 0015).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/common/line.hpp"
#include "stores/etcd/wire.hpp"

namespace holdfast::stores::etcd {

// A claim, as its key shows it.
struct Standing {
  std::string key{};
  ClaimId claim{};  // a dialect does not write it
  Shape shape{};
  bool revoked = false;  // its holder was told to let go
  std::string about{};
  std::int64_t created = 0;   // its create revision: its place, and its grant's number
  std::int64_t modified = 0;  // its mod revision
  std::int64_t lease = 0;
};

// All that stands under one name.
struct Row {
  std::vector<Standing> line;       // in the order of their create revisions
  std::vector<std::string> delays;  // keys of their claims, in the line or dead
  bool foreign = false;             // something here was written by a newer version

  std::optional<std::size_t> place_of(std::string_view key) const noexcept;
  // A holder died, and its lock_delay is not over.
  bool delayed() const noexcept;
  // How many claims at the front hold the lock. While a dead holder's delay runs, a claim for the
  // whole does not, because it cannot have held the lock beside the dead one.
  std::size_t in() const noexcept;
};

class Layout {
 public:
  explicit Layout(bool dialect) noexcept : dialect_(dialect) {}

  bool delays() const noexcept { return !dialect_; }
  std::string prefix(std::string_view name) const;  // of all its keys, ends in "/"
  std::string key(std::string_view prefix, std::int64_t lease) const;
  std::string key_end(std::string_view key) const;  // of the claim's key and its delay's
  std::string write(const Standing& standing) const;
  bool says_revoked(std::string_view value) const;

  // Reads these keys, and ignores those that are not ours.
  Row read(std::string_view prefix, const std::vector<KeyValue>& all) const;

  // The prefix of the keys of all names that begin with `name_prefix`.
  std::string all(std::string_view name_prefix) const;
  // The prefix of the name that this key belongs to; empty if it is no claim's key.
  std::string prefix_in(const KeyValue& kv) const;
  std::optional<std::string> name_in(std::string_view prefix) const;

 private:
  void read(std::string_view prefix, const KeyValue& kv, Row& row) const;

  bool dialect_;
};

std::string delay_key(std::string_view claim_key);
std::string write_delay(Millis delay);
std::string cell_key(std::string_view name);

// The end of the range of all keys with this prefix.
std::string end_of(std::string_view prefix);

}  // namespace holdfast::stores::etcd
