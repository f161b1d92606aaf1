// The wait for the lease.
#pragma once

#include <optional>
#include <stop_token>
#include <thread>

#include "cli/run/system.hpp"
#include "holdfast/holdfast.hpp"

namespace holdfast::cli {

struct Job;

class Waiting {
 public:
  Waiting(const Job& job, const Store& store);

  Result<Lease> try_once() const;  // on this thread, so a free lock costs no thread switch
  bool may_help(const Error& error) const;

  // Waits on its own thread, so that the guard can answer signals meanwhile.
  void begin();
  int descriptor() const noexcept { return over_.descriptor(); }  // readable when the wait is over
  void stop() { stop_.request_stop(); }
  Result<Lease> result();  // waits until it is over

 private:
  Result<Lease> wait() const;

  const Job& job_;
  const Store store_;
  const Lock lock_;
  const std::int64_t began_ = boot_now();
  std::stop_source stop_;
  Flag over_;
  std::optional<Result<Lease>> result_;
  std::thread thread_;
};

}  // namespace holdfast::cli
