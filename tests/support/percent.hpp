// tests/support/percent.hpp: names as ZooKeeper and etcd have them in paths and keys. Written
// independently of the stores, so that a test shares no mistake with what it tests.
#pragma once

#include <cctype>
#include <cstdio>
#include <string>

namespace holdfast::support {

inline std::string percent_encoded(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    char hex[4] = {c, 0, 0, 0};
    const bool plain =
        (byte < 0x80 && std::isalnum(byte) != 0) || std::string("-._~:@+=,;").find(c) < 10;
    if (!plain) std::snprintf(hex, sizeof hex, "%%%02X", byte);
    out += hex;
  }
  return out;
}

}  // namespace holdfast::support
