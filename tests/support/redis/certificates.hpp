// tests/support/redis/certificates.hpp: certificates for TLS, made by the command `openssl`.
#pragma once

#include <string>
#include <vector>

#include "support/files.hpp"

namespace holdfast::support {

struct Certificate {
  std::string file;
  std::string key;
  std::string serial{};
};

// An authority and what it signs, in a folder that is deleted with it.
class Authority {
 public:
  Authority();
  Authority below() const { return Authority(this); }  // one that this one vouches for

  const Certificate& certificate() const noexcept { return self_; }
  const std::string& file() const noexcept { return self_.file; }
  // names: as openssl writes them, "IP:127.0.0.1,DNS:localhost". With days = -1 it has expired.
  Certificate issue(const std::string& names, int days = 2) const;
  // A file with the list of certificates that it revoked; newer than the lists before.
  std::string revoked(const std::vector<Certificate>& certificates) const;

 private:
  explicit Authority(const Authority* above);
  Certificate sign(const std::string& path, const std::string& whose, const std::string& what_for,
                   int days) const;

  TempFolder folder_;
  Certificate self_;
  mutable int issued_ = 0;
  mutable int lists_ = 0;
};

const Authority& authority();  // made once per process
inline constexpr auto loopback_names = "IP:127.0.0.1,DNS:localhost";

}  // namespace holdfast::support
