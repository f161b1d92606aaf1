// stores/redis/survey.hpp: how a server is run, as it tells, and what its promises are worth then.
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
  std::string fsync;            // appendfsync; empty: it may not be read
  int replicas = 0;             // connected to it
  bool replica = false;         // is one itself
  bool node = false;            // of a Cluster
  bool log = false;             // appendonly
  bool fsync_rests = false;     // no-appendfsync-on-rewrite
  bool needs_replicas = false;  // min-replicas-to-write

  // Whatever was answered is on the disk.
  bool synced() const noexcept { return log && fsync == "always" && !fsync_rests; }
};

// The questions to one server, one after the other.
class Survey {
 public:
  bool complete() const noexcept { return step_ == Step::end; }
  void write(std::string& out) const;
  void read(const Reply& reply);
  bool refused() noexcept;  // true: it goes on without that answer
  const Facts& facts() const noexcept { return facts_; }

 private:
  enum class Step : std::uint8_t { info, config, end };

  Step step_ = Step::info;
  Facts facts_;
};

// `objection` is what stands against correctness first of all, with the way out; empty: nothing.
struct Judgement {
  Guarantees guarantees;
  std::string objection;
};
Judgement judge(const Options& options, std::span<const Facts> servers);

// The answer to an ask for correctness.
Problem unfit(const Judgement& judgement);

// The value in "name:value", a line of INFO; empty: there is none.
std::string_view info_field(std::string_view info, std::string_view name);

}  // namespace holdfast::stores::redis
