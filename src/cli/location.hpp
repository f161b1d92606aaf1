// The store to use: --store, else HOLDFAST_STORE, else SQLite in the user's state folder; and what
// others may see of it (X03: no password reaches a process list, an environment or a message).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/options.hpp"

namespace holdfast::cli {

struct Location {
  std::string url;      // to open; may contain a password
  std::string pass_on;  // for the command; with a password only if the environment had it
};

Location locate(const Options& options);

// Equal for all spellings of one store: no password, and the real path of an SQLite file.
std::string identity_of(std::string_view url);

bool has_password(std::string_view url);
bool is_insecure(std::string_view url);  // X01: the store's certificate is not checked

// Overwrites it in our arguments, which the kernel shows to other users.
void conceal_password(std::span<char*> arguments);

}  // namespace holdfast::cli
