#include "lab/stores/chronicle.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace holdfast::lab {
namespace {

using Entry = core::Admission::Entry;
using Standing = core::Admission::Standing;

const Entry* live(const core::Admission& line, const ClaimId& claim) {
  for (const Entry& entry : line.entries())
    if (entry.claim == claim && entry.live()) return &entry;
  return nullptr;
}

std::uint64_t number_in(const std::string& about) {
  std::uint64_t number = 0;
  std::from_chars(about.data(), about.data() + about.size(), number);
  return number;
}

}  // namespace

std::string about_of(std::uint64_t op, bool fair) { return std::to_string(2 * op + fair); }

Chronicle::Known* Chronicle::find(Line& line, const ClaimId& claim) noexcept {
  const auto at = std::ranges::find(line.known, claim, &Known::claim);
  return at == line.known.end() ? nullptr : &*at;
}

void Chronicle::compare(std::uint16_t name, const core::Admission& line, const Node& node,
                        const char* why) {
  Line& mine = lines_[name];
  tell_ended(mine, line, node, why);

  std::vector<const Entry*> granted;
  for (const Entry& entry : line.entries()) {
    if (!entry.live()) continue;
    Known* known = find(mine, entry.claim);
    if (entry.standing == Standing::held) {
      // Smaller numbers were recorded before, and came back in a memory that had lost its tail.
      if (!(known && known->standing == Standing::held) && entry.number > mine.newest)
        granted.push_back(&entry);
      if (!known || known->standing != Standing::held || known->expires_us == entry.expires_us)
        continue;
      known->expires_us = entry.expires_us;
      if (timed_) told(*known, What::store_renewed, entry, node);
    } else if (known) {
      known->expires_us = entry.expires_us;
    } else {
      Event event;
      event.name = name;
      event.capacity = line.head().capacity;
      told(come(mine, entry, event), What::store_queued, entry, node);
    }
  }
  std::ranges::sort(granted, {}, &Entry::number);
  for (const Entry* entry : granted) {
    Known* known = find(mine, entry->claim);
    Event event;
    event.name = name;
    event.capacity = line.head().capacity;
    if (!known) known = &come(mine, *entry, event);
    known->standing = Standing::held;
    known->number = mine.newest = entry->number;
    known->expires_us = entry->expires_us;
    told(*known, What::store_granted, *entry, node);
  }
}

void Chronicle::tell_ended(Line& line, const core::Admission& now, const Node& node,
                           const char* why) {
  std::erase_if(line.known, [&](const Known& known) {
    const bool expired = timed_ && known.expires_us <= node.now_us();
    // A claim may end and come back in the same step.
    const Entry* entry = live(now, known.claim);
    if (entry && (known.number == 0 ? !expired : entry->number == known.number)) return false;
    Event event = known.event;
    event.what = What::store_ended;
    event.node = node.number;
    event.note = expired ? "expired" : why;
    if (event.note == std::string_view("dropped"))
      event.note = known.standing == Standing::held ? "released" : "withdrawn";
    world_.tell(event);
    return true;
  });
}

Chronicle::Known& Chronicle::come(Line& line, const Entry& entry, Event event) {
  const std::uint64_t about = number_in(entry.about);
  event.op = about / 2;
  event.flag = about % 2 != 0;
  event.process = static_cast<std::int16_t>(entry.party.place);
  event.claim = short_id(entry.claim);
  event.weight = entry.weight;
  return line.known.emplace_back(
      Known{entry.claim, entry.standing, entry.number, entry.expires_us, event});
}

void Chronicle::told(Known& known, What what, const Entry& entry, const Node& node) {
  known.event.what = what;
  known.event.node = node.number;
  known.event.token = entry.number;
  known.event.weight = entry.weight;
  known.event.until = timed_
                          ? node.when(BootTime(std::chrono::microseconds(entry.expires_us))).count()
                          : std::numeric_limits<std::int64_t>::max();
  world_.tell(known.event);
}

void Chronicle::arrived(const char* what, std::int16_t process, std::uint16_t name,
                        const ClaimId& claim, const Node& node) {
  Event event;
  event.what = What::arrived;
  event.process = process;
  event.node = node.number;
  event.name = name;
  event.claim = short_id(claim);
  event.note = what;
  world_.tell(event);
}

}  // namespace holdfast::lab
