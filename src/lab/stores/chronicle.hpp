// lab/stores/chronicle.hpp: records in the history what each step of a store did to its claims.
#pragma once

#include "core/admission.hpp"
#include "lab/desk.hpp"

namespace holdfast::lab {

// What the chronicle needs to know about an ask; it travels in the ask's `about`.
std::string about_of(std::uint64_t op, bool fair);

class Chronicle {
 public:
  Chronicle(World& world, std::size_t locks, bool timed)
      : world_(world), timed_(timed), lines_(locks) {}

  // Records what a step did to the claims of that line. `why` is the reason for ends that are not
  // expiries; "dropped" becomes released or withdrawn.
  void compare(std::uint16_t name, const core::Admission& line, const Node& node, const char* why);
  void arrived(const char* what, std::int16_t process, std::uint16_t name, const ClaimId& claim,
               const Node& node);

 private:
  struct Known {
    ClaimId claim;
    core::Admission::Standing standing;
    std::uint64_t number;
    std::int64_t expires_us;
    Event event;  // as last recorded
  };
  struct Line {
    std::vector<Known> known;
    std::uint64_t newest = 0;  // number
  };
  void tell_ended(Line& line, const core::Admission& now, const Node& node, const char* why);
  Known* find(Line& line, const ClaimId& claim) noexcept;
  Known& come(Line& line, const core::Admission::Entry& entry, Event event);
  void told(Known& known, What what, const core::Admission::Entry& entry, const Node& node);

  World& world_;
  const bool timed_;  // claims have their own expiry
  std::vector<Line> lines_;
};

}  // namespace holdfast::lab
