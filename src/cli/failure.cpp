#include "cli/failure.hpp"

namespace holdfast::cli {
namespace {

// Reasons that say more than the error code.
struct ByReason {
  std::string_view reason;
  int code;
};
constexpr ByReason by_reason[] = {
    {"bad_name", exit_code::usage},  // a usage error, even if only the store finds it
    {"bad_ttl", exit_code::usage},
    {"cannot_create", exit_code::cannot_create},
    {"busy_file", exit_code::busy},  // S45: another process has locked the file itself
};

int code_of(const Error& error) {
  for (const auto& [reason, code] : by_reason)
    if (error.reason() == reason) return code;
  switch (error.errc()) {
    case Errc::busy: return exit_code::busy;
    case Errc::lost: return exit_code::lost;
    case Errc::unavailable: return exit_code::unavailable;
    case Errc::denied: return exit_code::denied;
    case Errc::invalid:
    case Errc::unsupported:
    case Errc::corrupt: return exit_code::configuration;
    case Errc::cancelled:
    case Errc::unknown: break;
  }
  return exit_code::internal;
}

}  // namespace

Failure bad_usage(std::string text) { return {exit_code::usage, "usage", std::move(text)}; }

Failure bad_configuration(std::string text) {
  return {exit_code::configuration, "configuration", std::move(text)};
}

Failure failure_of(const Error& error) {
  return {code_of(error), std::string(error.reason()), error.message()};
}

}  // namespace holdfast::cli
