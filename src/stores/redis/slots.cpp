#include "stores/redis/slots.hpp"

#include "stores/redis/keys.hpp"

namespace holdfast::stores::redis {

bool read_slots(const Reply& reply, const net::Place& asked, std::vector<SlotRange>& ranges) {
  if (reply.type != Reply::Type::array) return false;
  for (const Reply& each : reply.items) {
    const std::int64_t first = each[0].integer, last = each[1].integer;
    const Reply& master = each[2];
    const std::int64_t port = master[1].integer;
    if (first < 0 || first > last || last >= slots || port < 1 || port > 65535) return false;
    const std::string_view host = master[0].text;
    const bool unnamed = host.empty() || host == "?";
    ranges.push_back({static_cast<std::uint16_t>(first),
                      static_cast<std::uint16_t>(last),
                      {.host = unnamed ? asked.host : std::string(host),
                       .port = static_cast<std::uint16_t>(port)}});
  }
  return !ranges.empty();
}

}  // namespace holdfast::stores::redis
