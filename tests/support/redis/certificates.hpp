// tests/support/redis/certificates.hpp: certificates for TLS, made by the command `openssl`.
#pragma once

#include <string>

#include "support/files.hpp"

namespace holdfast::support {

struct Certificate {
  std::string file;
  std::string key;
};

// An authority and what it signs, in a folder that goes away with it.
class Authority {
 public:
  Authority();

  const std::string& file() const noexcept { return self_.file; }
  // names: as openssl writes them, "IP:127.0.0.1,DNS:localhost". Of -1 days: has expired.
  Certificate issue(const std::string& names, int days = 2) const;

 private:
  TempFolder folder_;
  Certificate self_;
  mutable int issued_ = 0;
};

const Authority& authority();  // made once a process
inline constexpr auto loopback_names = "IP:127.0.0.1,DNS:localhost";

}  // namespace holdfast::support
