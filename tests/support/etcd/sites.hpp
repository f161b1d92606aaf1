// tests/support/etcd/sites.hpp: where the conformance suite meets etcd.
#pragma once

#include <memory>

#include "support/world.hpp"

namespace holdfast::support {

std::unique_ptr<Site> single_etcd();
std::unique_ptr<Site> tls_etcd();
std::unique_ptr<Site> cluster_etcd();

}  // namespace holdfast::support
