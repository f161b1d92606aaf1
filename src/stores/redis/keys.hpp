// stores/redis/keys.hpp: the keys of a name. `hf:{NAME}` is a lock, `hf:{NAME}:c` a cell. NAME is
// percent-encoded, so it contains no brace, glob or control byte. The tag between the braces alone
// decides the slot, so lock and cell of a name share it. dialect=string takes names verbatim.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::stores::redis {

std::string lock_key(std::string_view name);
std::string cell_key(std::string_view name);

// The SCAN pattern for locks whose name begins with `prefix`; name_of() rejects other matches.
std::string lock_pattern(std::string_view prefix);

// The name that a lock's key stands for; false if it is not a lock's key.
bool name_of(std::string_view key, std::string& name);

// In a Cluster: which of the 16384 slots a key belongs to.
inline constexpr std::uint16_t slots = 16384;
std::uint16_t slot_of(std::string_view key) noexcept;

// The key of the amnesia guard's marker; in a Cluster each slot has its own.
std::string marker_key();
std::string marker_key(std::uint16_t slot);

}  // namespace holdfast::stores::redis
