// stores/redis/scripts.hpp: the scripts that run inside the server (scripts/*.lua, embedded).
#pragma once

#include <span>
#include <string_view>

namespace holdfast::stores::redis {

struct Script {
  std::string_view name;
  std::string_view text;
  std::string_view sha;  // its name for EVALSHA: 40 hex digits
};

extern const Script ask_script;
extern const Script renew_script;
extern const Script release_script;
extern const Script revoke_script;
extern const Script describe_script;
extern const Script mark_script;
extern const Script cell_add_script;
extern const Script cell_swap_script;
extern const Script cell_get_script;

// dialect=string
extern const Script string_ask_script;
extern const Script string_renew_script;
extern const Script string_release_script;
extern const Script string_revoke_script;
extern const Script string_describe_script;

std::span<const Script* const> all_scripts() noexcept;

}  // namespace holdfast::stores::redis
