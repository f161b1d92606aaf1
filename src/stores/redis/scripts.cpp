#include "stores/redis/scripts.hpp"

namespace holdfast::stores::redis {

#include "scripts.inc"

std::span<const Script* const> all_scripts() noexcept { return all; }

}  // namespace holdfast::stores::redis
