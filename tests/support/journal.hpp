// tests/support/journal.hpp: a resource for a lock to protect: a list of those who were inside. It
// always shows two inside at once (flock knows nothing of holdfast) and a token that went back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "holdfast/result.hpp"
#include "support/sockets.hpp"

namespace holdfast::support {

class Journal {
 public:
  explicit Journal(const std::filesystem::path& folder) : file_(folder / "journal") {}

  // Writes a line and stays inside until the descriptor is closed. Empty: somebody else is inside.
  std::optional<Descriptor> enter(int who, Token token) const;

  struct Line {
    int who = 0;
    Token token;
  };
  std::vector<Line> lines() const;

 private:
  std::filesystem::path file_;
};

}  // namespace holdfast::support
