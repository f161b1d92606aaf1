// tests/support/journal.hpp: what a lock protects, as a list of those who were in. Two inside at
// once cannot stay unseen (flock knows nothing of holdfast), nor can a token that went back.
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

  // Writes a line and stays inside until the descriptor is closed. Nothing: somebody else is.
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
