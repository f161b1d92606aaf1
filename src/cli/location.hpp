// Which store: --store, else HOLDFAST_STORE, else SQLite in the user's state folder; and what
// others may know of it (X03: no password reaches a process list, an environment or a message).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/options.hpp"

namespace holdfast::cli {

struct Location {
  std::string url;  // to open; may carry a password
  std::string
      pass_on;  // HOLDFAST_STORE of a command; has one only if the user's environment had it
};

Location locate(const Options& options);

// The same for every way to write one store: without password, SQLite files by their real path.
std::string identity_of(std::string_view url);

bool has_password(std::string_view url);
bool is_insecure(std::string_view url);  // X01: whoever answers is taken for the store

// Overwrites it where the kernel shows it to others.
void conceal_password(std::span<char*> arguments);

}  // namespace holdfast::cli
