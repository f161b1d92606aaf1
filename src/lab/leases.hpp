// lab/leases.hpp: all leases that their owners still have. Before every event of the history it
// calls valid() of each of them, even while its process is paused, and records what changed.
#pragma once

#include "core/hold.hpp"
#include "lab/world.hpp"

namespace holdfast::lab {

// One acquire, as the history names it.
struct Op {
  std::uint64_t number = 0;
  std::int16_t process = nobody;
  std::uint16_t name = 0;
  std::uint32_t weight = 1, capacity = 1;
  std::uint64_t owner = 0;

  Event event(What what, const char* note = "") const;
};

class Leases {
 public:
  explicit Leases(World& world);

  // A lease was granted through this claim.
  void begin(const Op& op, const Machine& machine, std::shared_ptr<core::Hold> hold,
             std::uint64_t claim);
  void lost(const core::Hold& hold);   // its owner was told
  void end(std::uint64_t op);          // released
  void end_all(std::int16_t process);  // it died
  void look();                         // calls valid() of all

 private:
  struct Lease {
    Op op;
    const Machine* machine;
    std::shared_ptr<core::Hold> hold;
    std::uint64_t claim;
    bool valid;
    bool lost;
    BootTime counted;  // as last recorded, on the owner's clock …
    Time until;        // … and in true time
  };
  Event event(const Lease& lease, What what) const;

  World& world_;
  std::vector<Lease> leases_;
};

std::uint64_t short_id(const ClaimId& claim) noexcept;  // as the history names it

}  // namespace holdfast::lab
