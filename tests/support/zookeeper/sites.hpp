// tests/support/zookeeper/sites.hpp: where the conformance suite meets ZooKeeper. Every test has
// its own folder there, so nothing that a killed client leaves for a while disturbs another test.
#pragma once

#include <memory>

#include "support/world.hpp"

namespace holdfast::support {

std::unique_ptr<Site> single_zookeeper();
std::unique_ptr<Site> ensemble_zookeeper();

}  // namespace holdfast::support
