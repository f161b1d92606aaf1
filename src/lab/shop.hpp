// lab/shop.hpp: one life of a process that has opened the store: its gates, its callers, and what
// the store thread, the timer thread and the callback threads do for them.
#pragma once

#include <list>

#include "lab/client.hpp"
#include "lab/gate.hpp"
#include "lab/process.hpp"

namespace holdfast::lab {

class Shop final : public Hints {
 public:
  Shop(Scene& scene, Process& process);
  ~Shop();

  Scene& scene() const noexcept { return scene_; }
  Process& process() const noexcept { return process_; }
  Backend& backend() const noexcept { return *backend_; }
  LabGate& gate(std::uint16_t name) { return *gates_[name]; }

  void open();                  // starts its clients
  void renew(LabClaim& claim);  // in the next round
  void later(Action action);    // soon, on another thread of the process
  void arm();
  bool idle() const noexcept;

  void granted(std::string_view name, const ClaimId& claim, const Answer& answer) noexcept override;
  void look(std::string_view name) noexcept override;
  void gone(std::string_view name, const ClaimId& claim) noexcept override;
  void alive(BootTime sent, Millis ttl) noexcept override;
  void warn(const Problem&) noexcept override {}
  void in_doubt() noexcept override {}  // simulated stores do not report this

 private:
  struct Round;
  void start_round();

  Scene& scene_;
  Process& process_;
  Chance chance_;
  core::Terms terms_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<LabGate>> gates_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<LabClaim*> renewals_;
  std::list<std::unique_ptr<Round>> rounds_;
};

}  // namespace holdfast::lab
