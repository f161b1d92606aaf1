#include "cli/run/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "cli/run/job.hpp"

namespace holdfast::cli {
namespace {

constexpr std::string_view ours[] = {
    "HOLDFAST_NAME=", "HOLDFAST_TOKEN=", "HOLDFAST_STORE=", "HOLDFAST_HELD="};

bool is_ours(std::string_view variable) {
  return std::ranges::any_of(ours,
                             [&](std::string_view name) { return variable.starts_with(name); });
}

}  // namespace

Environment::Environment(const Job& job, Token token, const Chain& chain) {
  added_.push_back("HOLDFAST_NAME=" + job.options.name);
  added_.push_back("HOLDFAST_STORE=" + job.location.pass_on);
  added_.push_back("HOLDFAST_HELD=" + chain.to_environment());
  if (token.value != 0) added_.push_back("HOLDFAST_TOKEN=" + std::to_string(token.value));
  for (char** variable = environ; *variable; ++variable)
    if (!is_ours(*variable)) pointers_.push_back(*variable);
  for (auto& variable : added_) pointers_.push_back(variable.data());
  pointers_.push_back(nullptr);
}

}  // namespace holdfast::cli
