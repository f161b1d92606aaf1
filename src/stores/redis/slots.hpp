// stores/redis/slots.hpp: which node of a Cluster has which slots, as CLUSTER SLOTS reports.
#pragma once

#include <cstdint>
#include <vector>

#include "net/place.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::stores::redis {

struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  net::Place master;
};

// A master without a host name is at the host that was asked. False if the form is wrong.
bool read_slots(const Reply& reply, const net::Place& asked, std::vector<SlotRange>& ranges);

}  // namespace holdfast::stores::redis
