#include "lab/check/check.hpp"

#include <array>
#include <cstdio>

#include "lab/check/account.hpp"

namespace holdfast::lab {
namespace {

constexpr std::array<std::string_view, checkers> words{
    "exclusion", "belief",   "fencing", "linear", "lost",
    "liveness",  "fairness", "residue", "cost",   "stuck"};

constexpr std::array<Judge, checkers> judges{
    check_exclusion, check_belief,   check_fencing, check_linear, check_lost,
    check_liveness,  check_fairness, check_residue, check_cost,   check_stuck};

}  // namespace

std::string_view to_string(Checker checker) noexcept {
  return words.at(static_cast<std::size_t>(checker));
}

std::vector<Violation> check(const History& history, const Expectation& expected) {
  const Account account(history);
  Violations found;
  for (const Judge judge : judges) judge(account, expected, found);
  std::ranges::stable_sort(found, {}, &Violation::at);
  return found;
}

std::string ms(std::int64_t nanoseconds) {
  const std::int64_t micros = nanoseconds / 1000;
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%lld.%03lld ms", static_cast<long long>(micros / 1000),
                static_cast<long long>(micros % 1000));
  return text.data();
}

std::string who(const Acquire& acquire) {
  return "process " + std::to_string(acquire.process) + " (acquire " + std::to_string(acquire.op) +
         ", token " + std::to_string(acquire.token) + ")";
}

std::string lock(std::uint16_t name) { return "lock " + std::to_string(name); }

}  // namespace holdfast::lab
