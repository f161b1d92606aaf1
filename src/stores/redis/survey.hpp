// stores/redis/survey.hpp: how a server is run, as it reports, and what it can guarantee then.
#pragma once

#include <span>
#include <string>

#include "stores/redis/options.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::stores::redis {

struct Facts {
  std::string run_id;
  std::string version;
  std::string eviction;         // maxmemory-policy
  std::string fsync;            // appendfsync; empty: we may not read it
  int replicas = 0;             // connected to it
  bool replica = false;         // is one itself
  bool node = false;            // of a Cluster
  bool log = false;             // appendonly
  bool fsync_rests = false;     // no-appendfsync-on-rewrite
  bool needs_replicas = false;  // min-replicas-to-write

  // Everything that the server answered is on its disk.
  bool synced() const noexcept { return log && fsync == "always" && !fsync_rests; }
};

// The questions to one server, one after the other.
class Survey {
 public:
  bool complete() const noexcept { return step_ == Step::end; }
  void write(std::string& out) const;
  void read(const Reply& reply);
  bool refused() noexcept;  // true: the survey goes on without that answer
  const Facts& facts() const noexcept { return facts_; }

 private:
  enum class Step : std::uint8_t { info, config, end };

  Step step_ = Step::info;
  Facts facts_;
};

// `objection` is the first reason against correctness, and the way out; empty: none.
struct Judgement {
  Guarantees guarantees;
  std::string objection;
};
Judgement judge(const Options& options, std::span<const Facts> servers);

// The refusal of an ask for correctness.
Problem unfit(const Judgement& judgement);

// The value in the line "name:value" of INFO; empty if there is none.
std::string_view info_field(std::string_view info, std::string_view name);

}  // namespace holdfast::stores::redis
