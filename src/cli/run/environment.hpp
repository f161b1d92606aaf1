// The command's environment: ours, plus what the command needs to know about its lock.
#pragma once

#include <string>
#include <vector>

#include "holdfast/result.hpp"

namespace holdfast::cli {

struct Job;
class Chain;

// HOLDFAST_NAME, HOLDFAST_TOKEN (none on a store without tokens), HOLDFAST_STORE, HOLDFAST_HELD.
class Environment {
 public:
  Environment(const Job& job, Token token, const Chain& chain);
  char* const* get() noexcept { return pointers_.data(); }

 private:
  std::vector<std::string> added_;
  std::vector<char*> pointers_;
};

}  // namespace holdfast::cli
