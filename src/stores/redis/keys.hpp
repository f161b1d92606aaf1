// stores/redis/keys.hpp: where a name lives. `hf:{NAME}` is a lock, `hf:{NAME}:c` a cell, with NAME
// percent-encoded so that no brace, glob or control byte is in a key: the tag between the braces
// alone decides the slot, and the two of a name share it. dialect=string takes names verbatim.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::stores::redis {

std::string lock_key(std::string_view name);
std::string cell_key(std::string_view name);

// What SCAN finds all locks whose name begins with `prefix` by (and their cells: see name_of).
std::string lock_pattern(std::string_view prefix);

// The name of a lock's key; false if it is not one.
bool name_of(std::string_view key, std::string& name);

// In Cluster: which of the 16384 slots a key belongs to.
inline constexpr std::uint16_t slots = 16384;
std::uint16_t slot_of(std::string_view key) noexcept;

// What the amnesia guard marks a server with; in Cluster each slot has its own.
std::string marker_key();
std::string marker_key(std::uint16_t slot);

}  // namespace holdfast::stores::redis
