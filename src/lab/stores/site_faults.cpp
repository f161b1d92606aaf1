// How a site forgets, and how faults hit it.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/teeth.hpp"
#include "lab/process.hpp"
#include "lab/stores/server.hpp"

namespace holdfast::lab {

using core::mutated;
using core::Mutation;
using std::chrono::microseconds;

// ── memory ──────────────────────────────────────────────────────────────────────────────────────

// Commits reach the replica in order, mostly at once, sometimes with a long delay.
void Site::replicate(Server& master, std::function<void(Knowledge&)> change) {
  Server& replica = *servers_[1 - master_];
  if (&master == &replica || !replica.alive()) return;
  const bool stalls = !scene_.calm && chance_.percent(3);
  const Nanos lag = chance_.between(microseconds(50), stalls ? Nanos(Millis(2000)) : Millis(2));
  replica.follows_until = std::max(replica.follows_until, scene_.world.now() + lag);
  scene_.world.at(replica.follows_until,
                  [&replica, stream = replica.stream, change = std::move(change)] {
                    if (stream == replica.stream) change(replica.known);
                  });
}

// Like a log that is synced now and then.
void Site::keep_snapshot(Server& server) {
  if (scene_.plan.store.memory != Memory::tail_lost || std::exchange(server.snapshot_due, true))
    return;
  server.after(chance_.up_to(Millis(1000)), [&server] {
    server.snapshot_due = false;
    server.durable = server.known;
  });
}

// From now on the server knows only `known`. With the guard it lets nobody new in for as long as
// the longest lease could still count.
void Site::recall(Server& server, Knowledge known, const char* why) {
  server.known = std::move(known);
  server.durable = server.known;
  server.snapshot_due = false;
  for (std::size_t i = 0; i < server.known.lines.size(); ++i) {
    core::Admission& line = server.known.lines[i];
    if (scene_.plan.store.guard) {
      std::vector<core::Admission::Entry> entries(line.entries().begin(), line.entries().end());
      core::Admission::Entry& quarantine = entries.emplace_back();
      quarantine.standing = core::Admission::Standing::ended;
      quarantine.expires_us = server.now_us() + microseconds(scene_.plan.store.guard_ttl).count();
      quarantine.position = entries.size() > 1 ? entries[entries.size() - 2].position + 1 : 1;
      line = core::Admission(line.head(), std::move(entries));
    }
    if (&serving(static_cast<std::uint16_t>(i)) == &server)
      chronicle_.compare(static_cast<std::uint16_t>(i), line, server, why);
  }
}

// Records an expiry when it happens, and not at the next request. Lets nobody in.
void Site::watch(Server& server, std::uint16_t name) {
  std::int64_t first_us = std::numeric_limits<std::int64_t>::max();
  for (const auto& entry : server.known.lines[name].entries())
    if (entry.live()) first_us = std::min(first_us, entry.expires_us);
  const bool any = first_us != std::numeric_limits<std::int64_t>::max();
  if (!any || server.watched[name]) return;
  server.watched[name] = true;
  server.at_boot(BootTime(microseconds(first_us)), [this, &server, name] {
    server.watched[name] = false;
    if (&serving(name) != &server) return;
    server.known.lines[name].expire(server.now_us());
    chronicle_.compare(name, server.known.lines[name], server, "expired");
    if (!mutated(Mutation::never_expires)) watch(server, name);
  });
}

// ── faults ──────────────────────────────────────────────────────────────────────────────────────

void Site::suffer(const Fault& fault) {
  if (fault.kind == Fault::Kind::revoke) {
    Node& node = serving(fault.name);
    if (node.alive() && !node.paused()) revoke(node, fault.name, fault.flag);
    return;
  }
  Server& server = *servers_[static_cast<std::size_t>(std::max<std::int16_t>(fault.node, 0))];
  switch (fault.kind) {
    case Fault::Kind::pause: {
      if (!server.alive() || server.paused()) return;
      scene_.tell(What::pause, nobody, server.number);
      server.pause();
      scene_.world.after(fault.length, [this, &server] {
        if (!server.paused()) return;
        scene_.tell(What::resume, nobody, server.number);
        server.resume();
      });
      break;
    }
    case Fault::Kind::crash: crash(server, fault.length); break;
    case Fault::Kind::forget:  // a flush, which reaches the replica too
      if (!server.alive()) return;
      scene_.tell(What::forget, nobody, server.number);
      forget(server);
      if (replicated()) replicate(server, [](Knowledge& known) { known.forget(); });
      break;
    case Fault::Kind::jump_clock:
      scene_.tell(What::jump, nobody, server.number);
      server.jump_boot(Nanos(fault.amount));
      break;
    case Fault::Kind::failover: {
      Server& master = *servers_[master_];
      if (!master.alive()) return;
      crash(master, 2 * fault.length);
      scene_.world.after(fault.length, [this] { promote(); });
      break;
    }
    case Fault::Kind::cut:  // it healed: processes learn that they missed messages
      missed_messages(server.number);
      break;
    default: break;
  }
}

void Site::crash(Server& server, Nanos length) {
  if (!server.alive()) return;
  scene_.tell(What::crash, nobody, server.number);
  server.die();
  server.watched.assign(server.known.lines.size(), false);
  for (const auto& other : servers_) ++other->stream;  // what was on its way to a replica is lost
  scene_.world.after(length, [this, &server] { restart(server); });
}

void Site::restart(Server& server) {
  if (server.alive()) return;
  server.revive();
  scene_.tell(What::restart, nobody, server.number);
  if (replicated() && &server != servers_[master_].get()) {
    server.known = servers_[master_]->known;
  } else if (scene_.plan.store.memory == Memory::lost) {
    forget(server);
  } else if (scene_.plan.store.memory == Memory::tail_lost) {
    recall(server, server.durable, "forgotten");
  }
  missed_messages(server.number);
}

void Site::promote() {
  Server& replica = *servers_[1 - master_];
  if (servers_[master_]->alive() || !replica.alive()) return;
  master_ = 1 - master_;
  scene_.tell(What::failover, nobody, replica.number);
  recall(replica, replica.known, "forgotten");
  missed_messages(replica.number);
}

void Site::forget(Server& server) {
  Knowledge nothing = server.known;
  nothing.forget();
  recall(server, std::move(nothing), "forgotten");
}

void Site::missed_messages(std::int16_t node) {
  if (!traits_.notifies || !scene_.plan.store.hears) return;
  for (const auto& process : scene_.processes)
    scene_.network.message(process->number(), node, [&one = *process] {
      one.after(Nanos(0), [&one] { one.hints()->look({}); });
    });
}

void Site::calm() {
  for (const auto& server : servers_) {
    if (!server->alive()) restart(*server);
    if (!server->paused()) continue;
    scene_.tell(What::resume, nobody, server->number);
    server->resume();
  }
}

}  // namespace holdfast::lab
