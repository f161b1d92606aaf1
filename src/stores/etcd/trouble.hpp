// stores/etcd/trouble.hpp: what an error of gRPC or etcd means.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/backend.hpp"

namespace holdfast::stores::etcd {

enum class Verdict : std::uint8_t {
  refused,    // definitely not done, and asking again does not help
  unsent,     // it never left, or was not accepted: ask another
  elsewhere,  // it may have been done: ask another
  log_in,     // the token is not (or no longer) valid
};
struct Judged {
  Verdict verdict{};
  Problem problem{};
};

// `code` is gRPC's number.
Judged judge(int code, std::string_view text, const std::string& address);

}  // namespace holdfast::stores::etcd
