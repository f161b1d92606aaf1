#include "lab/plan.hpp"

namespace holdfast::lab {
namespace {

std::string ms(Nanos span) {
  return std::to_string(std::chrono::duration_cast<Millis>(span).count()) + " ms";
}

const char* word(Shape shape) {
  switch (shape) {
    case Shape::single: return "one node";
    case Shape::sharded: return "independent nodes";
    case Shape::replicated: return "a master and a replica";
    case Shape::consensus: return "nodes that agree, with sessions";
  }
  return "";
}

const char* word(Memory memory) {
  switch (memory) {
    case Memory::kept: return "a crash loses nothing";
    case Memory::lost: return "a crash loses everything";
    case Memory::tail_lost: return "a crash loses the last second";
  }
  return "";
}

const char* word(Where where) {
  switch (where) {
    case Where::anywhere: return "";
    case Where::before_send: return " before its next request leaves";
    case Where::after_reply: return " after its next reply came";
    case Where::inside: return " inside its next critical section";
  }
  return "";
}

std::string who(const Fault& fault) {
  if (fault.process == nobody) return "node " + std::to_string(fault.node);
  return "process " + std::to_string(fault.process);
}

std::string what(const Fault& fault) {
  using enum Fault::Kind;
  switch (fault.kind) {
    case pause: return who(fault) + " stands still for " + ms(fault.length) + word(fault.where);
    case crash: return who(fault) + " crashes and is back after " + ms(fault.length);
    case cut:
      return who(fault) + " and " +
             (fault.node == nobody ? "all nodes" : "node " + std::to_string(fault.node)) +
             " are cut apart for " + ms(fault.length) +
             (fault.there && fault.back ? ""
              : fault.there             ? ", there"
                                        : ", back");
    case isolate: return who(fault) + " is cut off from the others for " + ms(fault.length);
    case forget: return who(fault) + " forgets everything";
    case failover: return "the master crashes; its replica takes over after " + ms(fault.length);
    case jump_wall: return who(fault) + ": wall clock jumps by " + ms(Nanos(fault.amount));
    case jump_clock: return who(fault) + ": clock jumps by " + ms(Nanos(fault.amount));
    case drift:
      return who(fault) + ": clock runs at " + std::to_string(fault.amount) + " ppm from now on";
    case end_session: return who(fault) + ": its session is ended";
    case revoke:
      return "an operator breaks lock " + std::to_string(fault.name) +
             (fault.flag ? " at once" : "");
  }
  return "";
}

std::string lock_text(const LockPlan& lock) {
  std::string line(to_string(lock.kind));
  if (lock.kind == Kind::semaphore) line += " of " + std::to_string(lock.capacity);
  line += ", ttl " + ms(lock.ttl);
  if (lock.lock_delay > Millis(0)) line += ", lock_delay " + ms(lock.lock_delay);
  return line;
}

}  // namespace

std::string text(const Fault& fault) { return ms(fault.at) + ": " + what(fault); }

std::string text(const Plan& plan) {
  const NoisePlan& noise = plan.noise;
  const auto percent = [](unsigned odds) { return std::to_string(odds) + " %"; };
  std::string all = "seed " + std::to_string(plan.seed) + "\n";
  all += std::string("store: ") + word(plan.store.shape) + "; " + word(plan.store.memory);
  all += plan.store.guard ? "; guarded" : "; no guard";
  all += plan.store.notifies ? "\n" : "; no messages\n";
  for (std::size_t i = 0; i < plan.locks.size(); ++i)
    all += "lock " + std::to_string(i) + ": " + lock_text(plan.locks[i]) + "\n";
  all += std::to_string(plan.processes()) + " processes with " + std::to_string(plan.clients) +
         (plan.habit.threads ? " threads" : " coroutines") + " each\n";
  all += "lost: requests " + percent(noise.lost_requests) + ", replies " +
         percent(noise.lost_replies) + ", messages " + percent(noise.lost_messages) +
         "; late: " + percent(noise.late) + "\n";
  all += (plan.calms ? "calm after " : "stops after ") + ms(plan.end) + "\n";
  for (const Fault& fault : plan.faults) all += "  " + text(fault) + "\n";
  return all;
}

}  // namespace holdfast::lab
