// stores/etcd/wire.hpp: requests to etcd and its answers, without gRPC.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/backend.hpp"

namespace holdfast::stores::etcd {

// What became of a request. `refused` is definite: etcd applied nothing of it, and never will.
enum class Outcome : std::uint8_t { unknown, refused, done };

struct Reply {
  Outcome outcome{};
  // Why, unless it is done. These strings are short enough to need no memory.
  Problem problem{Errc::unavailable, "unavailable", "it is closing"};
  bool repeated = false;  // an earlier copy of the request may still arrive
  std::int64_t revision = 0;
  bool went_back = false;  // older than one seen before: etcd lost what it had done
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
  std::string end{};  // if set: all keys from `key` up to it
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
  bool held = false;                         // the conditions held
  std::vector<std::vector<KeyValue>> found;  // for each operation; only ranges find keys
};
struct Found : Reply {
  std::vector<KeyValue> all;
  bool more = false;  // there are more than `most`
};
struct Removed : Reply {
  std::int64_t count = 0;
};
struct LeaseGranted : Reply {
  std::int64_t lease = 0;  // we choose it, so we know it even if the answer was lost
  std::chrono::seconds ttl{};
};
// from_then_on: an earlier keep-alive that is not answered yet will do.
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
