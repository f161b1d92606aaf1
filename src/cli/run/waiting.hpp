// The wait for the lease, on a thread of its own, so that signals are answered meanwhile.
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

  int descriptor() const noexcept { return over_.descriptor(); }  // readable when it is over
  void stop() { stop_.request_stop(); }
  Result<Lease> result();  // waits until it is over

 private:
  Result<Lease> acquire() const;

  const Job& job_;
  Store store_;
  Lock lock_;
  std::stop_source stop_;
  Flag over_;
  std::optional<Result<Lease>> result_;
  std::thread thread_;
};

}  // namespace holdfast::cli
