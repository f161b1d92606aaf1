// stores/etcd/wire.hpp: what is said to etcd and answered by it, without gRPC.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/backend.hpp"

namespace holdfast::stores::etcd {

// What became of a request. A refusal is definite: nothing of it was, or will be, applied.
enum class Outcome : std::uint8_t { unknown, refused, done };

struct Reply {
  Outcome outcome{};
  // Unless done. Its words are short enough to need no memory.
  Problem problem{Errc::unavailable, "unavailable", "it is closing"};
  bool repeated = false;  // a copy of the request may still be on its way
  std::int64_t revision = 0;
  bool went_back = false;  // that is older than one seen before: etcd forgot what it had done
  std::uint64_t term = 0;  // of raft

  bool done() const noexcept { return outcome == Outcome::done; }
  bool lease_is_gone() const noexcept { return problem.reason == "lease_gone"; }
};

struct KeyValue {
  std::string key{};
  std::string value{};
  std::int64_t created = 0;  // revisions
  std::int64_t modified = 0;
  std::int64_t lease = 0;
};

struct Operation {
  enum class What : std::uint8_t { range, put, remove };
  What what{};
  std::string key;
  std::string end{};  // with an end: all keys from key to there
  std::string value{};
  std::int64_t lease = 0;
  bool keep_lease = false;  // a put that leaves the key's lease as it is
};
struct Condition {
  enum class Of : std::uint8_t { created, modified };  // revision; 0: there is no such key
  Of of{};
  std::string key;
  std::int64_t revision = 0;
  std::string end{};
};
struct Transaction {
  std::vector<Condition> when;
  std::vector<Operation> then;
  std::vector<Operation> otherwise{};
};
struct Transacted : Reply {
  bool held = false;                         // its conditions did
  std::vector<std::vector<KeyValue>> found;  // one for each operation; of a range what is there
};
struct Found : Reply {
  std::vector<KeyValue> all;
  bool more = false;  // than were asked for
};
struct Removed : Reply {
  std::int64_t count = 0;
};
struct LeaseGranted : Reply {
  std::int64_t lease = 0;  // we choose it, so it is known of one that may have been granted, too
  std::chrono::seconds ttl{};
};
// Whether a keep-alive that was sent before, and is not answered yet, will do.
enum class Keeping : std::uint8_t { from_now_on, from_then_on };
struct LeaseKept : Reply {
  BootTime sent;
  std::chrono::seconds ttl{};  // 0: it is gone
};
struct LeaseLeft : Reply {
  std::chrono::seconds left{};
  std::chrono::seconds granted{};
};
struct ServerStatus : Reply {
  std::string version;
  bool leads = false;
  bool follows = false;  // it knows of a leader
  std::int64_t size = 0;
};
struct Alarms : Reply {
  bool no_space = false;
  bool corrupt = false;
};
struct Members : Reply {
  std::vector<std::string> names;
};

}  // namespace holdfast::stores::etcd
