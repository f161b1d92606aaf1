#include "lab/resource.hpp"

#include <algorithm>

namespace holdfast::lab {

using std::chrono::microseconds;

void Resource::write(const Op& op, Token token) {
  const bool slow = chance_.percent(2);
  const Nanos delay = chance_.between(microseconds(20), slow ? Nanos(Millis(50)) : Millis(1));
  world_.after(delay, [this, op, token] { arrive(op, token); });
}

void Resource::arrive(const Op& op, Token token) {
  Event event = op.event(What::write);
  event.token = token.value;
  world_.tell(event);
  event.what = What::accepted;
  world_.tell(event);
  std::uint64_t& newest = newest_[op.name];
  event.flag = true;
  if (token.value < newest) event.what = What::rejected;
  world_.tell(event);
  newest = std::max(newest, token.value);
}

}  // namespace holdfast::lab
