// stores/etcd/asked.hpp: asks that own what they point to, for flows that outlive their calls; and
// the answers that several flows give.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/backend.hpp"

namespace holdfast::stores::etcd {

// A little before the deadline, where the courier answers, which cannot say what was wrong.
inline BootTime in_time(BootTime deadline) {
  const auto left = deadline - BootClock::now();
  return deadline - std::min<BootClock::duration>(left / 10, Millis(50));
}
inline BootTime in_time(const Call& call) { return in_time(call.deadline); }

struct Asked {
  Asked(const Ask& from, BootTime by)
      : name(from.name), about(from.about), ask(from), deadline(by), began(BootClock::now()) {
    ask.name = name;
    ask.about = about;
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  const std::string name, about;
  Ask ask;
  const BootTime deadline;
  const BootTime began;  // not earlier than the moment from which the core counts
};
using AskedPtr = std::shared_ptr<const Asked>;

inline Answer refusal(Problem problem) {
  Answer answer;
  answer.said = Said::no;
  answer.problem = std::move(problem);
  return answer;
}
inline Answer refusal(Errc errc, const char* reason, std::string text) {
  return refusal({errc, reason, std::move(text)});
}
inline Answer gone(const char* reason, const char* text) {
  Answer answer;
  answer.said = Said::gone;
  answer.problem = {Errc::lost, reason, text};
  return answer;
}
inline Answer not_held() { return gone("not_held", "it is not held by this claim"); }
inline Answer revoked() { return gone("revoked", "it was revoked"); }

}  // namespace holdfast::stores::etcd
