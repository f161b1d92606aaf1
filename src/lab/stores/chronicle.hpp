// lab/stores/chronicle.hpp: tells the history what each step of a store did to its claims.
#pragma once

#include "core/admission.hpp"
#include "lab/desk.hpp"

namespace holdfast::lab {

// What a line needs to know of an ask beside the ask itself; it travels as its `about`.
std::string about_of(std::uint64_t op, bool fair);

class Chronicle {
 public:
  Chronicle(World& world, std::size_t locks, bool timed)
      : world_(world), timed_(timed), lines_(locks) {}

  // After a step on that line: tells what became of its claims. `why` is for those that neither
  // expired nor were dropped by their own process.
  void compare(std::uint16_t name, const core::Admission& line, const Node& node, const char* why);
  void arrived(const char* what, std::int16_t process, std::uint16_t name, const ClaimId& claim,
               const Node& node);

 private:
  struct Known {
    ClaimId claim;
    core::Admission::Standing standing;
    std::uint64_t number;
    std::int64_t expires_us;
    Event event;  // as it was last told
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
  const bool timed_;  // claims end by their own time
  std::vector<Line> lines_;
};

}  // namespace holdfast::lab
