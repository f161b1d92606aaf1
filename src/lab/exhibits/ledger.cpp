#include "lab/exhibits/ledger.hpp"

#include <algorithm>

namespace holdfast::lab::exhibits {

Request Ledger::write(Actor& self, std::uint64_t token) {
  return {"write", [this, &self, token](Node&) { return judge(self, token); }, token};
}

Request Ledger::draw() {
  return {"draw a number", [this](Node&) { return Answer{true, "", ++drawn_}; }};
}

Answer Ledger::judge(const Actor& self, std::uint64_t token) {
  const bool accepted = fence_ == Fence::off || token >= newest_;
  Event event{.what = What::write,
              .flag = fence_ == Fence::on,
              .process = self.number,
              .node = number,
              .op = self.op(),
              .token = token};
  stage.tell(event);
  event.what = accepted ? What::accepted : What::rejected;
  stage.tell(event);
  if (accepted) newest_ = std::max(newest_, token);
  return {accepted, accepted ? "done" : "refused: too old"};
}

}  // namespace holdfast::lab::exhibits
