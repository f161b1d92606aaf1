// stores/memory/memory.hpp: `memory:` and `memory:NAME`, locks inside one process.
//
// The smallest backend: it answers every call before the call returns, on the caller's own thread.
// All stores opened with the same NAME share one world and hear of each other's releases.
#pragma once

#include "holdfast/backend.hpp"

namespace holdfast::stores {

const Module& memory_module() noexcept;

}  // namespace holdfast::stores
