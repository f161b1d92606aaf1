// holdfast/holdfast.hpp: distributed locks over the stores that you already run.
//
//   #include <holdfast/holdfast.hpp>
//   using namespace std::chrono_literals;
//
//   auto store = holdfast::open("sqlite:locks.db").value();
//   if (auto lease = store.lock("orders/42").try_acquire_for(5s)) charge(order, lease->token());
//
// Each of these headers is a manual page: store.hpp, lock.hpp, lease.hpp, options.hpp, result.hpp.
#pragma once

#include "holdfast/lease.hpp"
#include "holdfast/lock.hpp"
#include "holdfast/names.hpp"
#include "holdfast/options.hpp"
#include "holdfast/result.hpp"
#include "holdfast/store.hpp"
