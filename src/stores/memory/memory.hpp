// stores/memory/memory.hpp: `memory:` and `memory:NAME`, locks of this process alone.
//
// The smallest backend: every call is answered before it returns, on the caller's own thread. All
// opened with the same NAME share one world and are told of each other's releases.
#pragma once

#include "holdfast/backend.hpp"

namespace holdfast::stores {

const Module& memory_module() noexcept;

}  // namespace holdfast::stores
