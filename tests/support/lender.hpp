// tests/support/lender.hpp: servers that test processes borrow.
//
// CTest runs every test in its own process, and a cluster takes seconds to start. So a separate
// process, server_lender, keeps servers: the first test that needs one starts the lender, and each
// test gets a server for itself, cleared. A while after the last loan the lender ends by itself,
// with its servers. Nobody has to start or end it, and it does not matter how a test or CTest ends.
#pragma once

#include <memory>
#include <string>

#include "support/world.hpp"

namespace holdfast::support {

std::unique_ptr<Site> borrow(const StoreCase& row);

// The other side: serves until nothing has been on loan for a while.
void lend();

}  // namespace holdfast::support
