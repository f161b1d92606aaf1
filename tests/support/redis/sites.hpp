// tests/support/redis/sites.hpp: where the conformance suite meets Redis. All of these keep their
// data over a restart, and none fails over by itself on a busy machine.
#pragma once

#include <memory>

#include "support/world.hpp"

namespace holdfast::support {

std::unique_ptr<Site> single_redis();
std::unique_ptr<Site> tls_redis();
std::unique_ptr<Site> sentinel_redis();
std::unique_ptr<Site> cluster_redis();

}  // namespace holdfast::support
