// tests/support/lender.hpp: servers that test processes lend from each other.
//
// CTest runs every test in a process of its own, and a cluster takes seconds to start. So servers
// are kept by a process apart, server_lender: the first test that needs any starts it, each gets
// some for itself alone and empty, and a while after the last one it ends by itself, servers and
// all. Nobody has to start or to end it, and it does not matter how a test or CTest ends.
#pragma once

#include <memory>
#include <string>

#include "support/world.hpp"

namespace holdfast::support {

std::unique_ptr<Site> borrow(const StoreCase& row);

// The other side: serves until nobody has had anything on loan for a while.
void lend();

}  // namespace holdfast::support
