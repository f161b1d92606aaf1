// lab/leases.hpp: all leases that their owners still have. valid() is asked of each of them before
// every line of the history, also while its process stands still; what changed is told.
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

  // Granted, by this claim.
  void begin(const Op& op, const Machine& machine, std::shared_ptr<core::Hold> hold,
             std::uint64_t claim);
  void lost(const core::Hold& hold);   // its owner is told
  void end(std::uint64_t op);          // released
  void end_all(std::int16_t process);  // it died
  void look();                         // asks valid() of all

 private:
  struct Lease {
    Op op;
    const Machine* machine;
    std::shared_ptr<core::Hold> hold;
    std::uint64_t claim;
    bool valid;
    bool lost;
    BootTime counted;  // what the history was told, on the owner's clock …
    Time until;        // … and in true time
  };
  Event event(const Lease& lease, What what) const;

  World& world_;
  std::vector<Lease> leases_;
};

std::uint64_t short_id(const ClaimId& claim) noexcept;  // as the history names it

}  // namespace holdfast::lab
