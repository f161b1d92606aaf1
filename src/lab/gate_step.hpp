// lab/gate_step.hpp: the body of the template LabGate::step, for the files that call it.
#pragma once

#include "lab/shop.hpp"

namespace holdfast::lab {

template <class Event>
void LabGate::step(core::Collector collector, Event&& event) {
  core::Orders orders;
  for (bool first = true, again = true; again; first = false) {
    const core::Moment moment = shop_.process().moment();
    if (first) event(moment, orders);
    collect(moment, orders, collector);
    const bool full = orders.wakes + 1 >= core::Orders::room || orders.losses == core::Orders::room;
    again = perform(orders) || full;
    orders.clear();
  }
  arm();
}

}  // namespace holdfast::lab
