#include "stores/redis/survey.hpp"

#include <algorithm>
#include <charconv>

#include "core/text.hpp"
#include "stores/redis/request.hpp"

namespace holdfast::stores::redis {

// ── asking ───────────────────────────────────────────────────────────────────────────────────────

std::string_view info_field(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; at < info.size();) {
    const std::size_t end = std::min(info.find_first_of("\r\n", at), info.size());
    const std::string_view line = info.substr(at, end - at);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':'))
      return line.substr(name.size() + 1);
    at = end + 1;
  }
  return {};
}

void Survey::write(std::string& out) const {
  if (step_ == Step::info) {
    Request(out, 1) << "INFO";
  } else {
    Request(out, 3) << "CONFIG"
                    << "GET"
                    << "*appendfsync*";  // one question for two settings
  }
}

void Survey::read(const Reply& reply) {
  if (step_ == Step::info) {
    const auto field = [&](std::string_view name) { return info_field(reply.text, name); };
    facts_.run_id = field("run_id");
    facts_.version = field("redis_version");
    facts_.eviction = field("maxmemory_policy");
    facts_.replica = field("role") != "master";
    facts_.node = field("cluster_enabled") == "1";
    facts_.log = field("aof_enabled") == "1";
    facts_.needs_replicas = !field("min_slaves_good_slaves").empty();
    const std::string_view count = field("connected_slaves");
    std::from_chars(count.data(), count.data() + count.size(), facts_.replicas);
    step_ = Step::config;
  } else {
    for (std::size_t at = 0; at + 1 < reply.items.size(); at += 2) {
      if (reply[at].text == "appendfsync") facts_.fsync = reply[at + 1].text;
      if (reply[at].text == "no-appendfsync-on-rewrite")
        facts_.fsync_rests = reply[at + 1].text != "no";
    }
    step_ = Step::end;
  }
}

// Many users may not read the configuration, and some services have no CONFIG.
bool Survey::refused() noexcept {
  if (step_ != Step::config) return false;
  step_ = Step::end;
  return true;
}

// ── judging ──────────────────────────────────────────────────────────────────────────────────────
namespace {

class Judge {
 public:
  explicit Judge(const Options& options) : options_(options), setting_(options.setting) {}

  Judgement judge(std::span<const Facts> servers) {
    about_arrangement();
    for (const Facts& server : servers) about_server(server);
    about_time();
    Guarantees& given = judgement_.guarantees;
    given.tokens = given.fifo = !setting_.string_dialect;
    given.survives_restart = given.survives_power_loss = remembers_ && !fails_over_;
    if (judgement_.objection.empty()) given.purpose = Purpose::correctness;
    return std::move(judgement_);
  }

 private:
  void say(std::string fact) {
    auto& because = judgement_.guarantees.because;
    if (std::ranges::find(because, fact) == because.end()) because.push_back(std::move(fact));
  }
  void object(std::string fact) {
    if (judgement_.objection.empty()) judgement_.objection = fact;
    say(std::move(fact));
  }

  void about_arrangement() {
    if (setting_.string_dialect)
      object(
          "dialect=string has no numbers and no line, and others may drop its keys; leave the "
          "dialect out");
    fails_over_ = options_.topology != Topology::single || options_.wait_replicas != 0;
    if (fails_over_)
      object(std::string(options_.topology == Topology::sentinel  ? "Sentinel"
                         : options_.topology == Topology::cluster ? "a Cluster"
                                                                  : "wait_replicas") +
             " means failover, and a replica that takes over may lack the newest locks; use one "
             "server without replicas, or another store");
    if (options_.wait_replicas != 0)
      say("wait_replicas makes that less likely, not impossible: a replica may restart empty, and "
          "clocks may differ");
    if (setting_.guard)
      say("guard=on: after a restart, a flush or a failover nothing new is granted for " +
          std::to_string(setting_.guard_ttl.count()) + " ms, while owners renew and release");
  }

  void about_server(const Facts& server) {
    if (server.replica) object("the server is a replica; name its master");
    if (server.node && options_.topology != Topology::cluster)
      object("the server is a node of a Cluster; write redis+cluster://");
    about_replicas(server);
    if (server.eviction == "noeviction") {
      say("maxmemory-policy is noeviction: no lock is evicted");
    } else {
      object("maxmemory-policy is " +
             (server.eviction.empty() ? "unknown" : core::escaped(server.eviction)) +
             ": locks may be evicted; set noeviction");
    }
    about_memory(server);
  }

  void about_replicas(const Facts& server) {
    if (fails_over_) {
      if (!server.needs_replicas)
        say("a master that is cut off goes on granting; set min-replicas-to-write 1");
    } else if (server.replicas > 0) {
      fails_over_ = true;
      object("replicas are connected (" + std::to_string(server.replicas) +
             "): one that takes over may lack the newest locks; use a server without replicas");
    } else {
      say("no replica is connected: nothing can take over that lacks a lock");
    }
  }

  void about_memory(const Facts& server) {
    const bool remembers = server.synced() || setting_.guard;
    const auto tell = [&](const std::string& fact) {
      remembers ? say(fact)
                : object(fact + "; set appendonly yes and appendfsync always, or use guard=on");
    };
    if (server.synced()) {
      say("each grant is on the disk before it is told (appendfsync always)");
    } else if (!server.log) {
      tell("a restart forgets all locks: there is no append-only file");
    } else if (server.fsync.empty()) {
      tell("unknown: may not read the configuration (CONFIG GET appendfsync)");
    } else if (server.fsync_rests) {
      tell("no-appendfsync-on-rewrite is on: a power loss may take the newest locks");
    } else {
      tell("appendfsync is " + core::escaped(server.fsync) +
           ": a power loss takes the locks of the last seconds, kill -9 of the server may");
    }
    remembers_ = remembers_ && remembers;
  }

  void about_time() {
    say("time is the server's wall clock: when that is set forward, leases end early");
    if (!setting_.string_dialect)
      say("numbers are its microseconds, or the last one plus one: with its data lost they still "
          "grow, unless its clock went back");
  }

  const Options& options_;
  const Setting& setting_;
  Judgement judgement_;
  bool fails_over_ = false;
  bool remembers_ = true;
};

}  // namespace

Judgement judge(const Options& options, std::span<const Facts> servers) {
  return Judge(options).judge(servers);
}

Problem unfit(const Judgement& judgement) {
  return {Errc::unsupported, "purpose", "not fit for correctness: " + judgement.objection};
}

}  // namespace holdfast::stores::redis
