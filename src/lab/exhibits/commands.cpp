#include "lab/exhibits/commands.hpp"

namespace holdfast::lab::exhibits::redis {
namespace {

std::string ms(Nanos span) { return std::to_string(span / 1ms); }

Keeper& keeper(Node& node) { return static_cast<Keeper&>(node); }

Answer one(bool yes) { return {yes, yes ? "1" : "0"}; }

}  // namespace

Request setnx(Actor& self) {
  return {self.stage.kept("SETNX lock " + self.name()),
          [&self](Node& node) { return one(keeper(node).take(self, {})); }};
}

Request expire(Actor& self, Nanos ttl) {
  return {self.stage.kept("PEXPIRE lock " + ms(ttl)), [ttl](Node& node) {
            if (keeper(node).owner()) keeper(node).extend(ttl);
            return one(keeper(node).owner() != nullptr);
          }};
}

Request set(Actor& self, Nanos ttl) {
  return {self.stage.kept("SET lock " + self.name() + " NX PX " + ms(ttl)),
          [&self, ttl](Node& node) {
            const bool yes = keeper(node).take(self, ttl);
            return Answer{yes, yes ? "OK" : "nil"};
          }};
}

Request set_and_count(Actor& self, Nanos ttl) {
  return {self.stage.kept("EVAL: SET lock " + self.name() + " NX PX " + ms(ttl) + ", INCR"),
          [&self, ttl](Node& node) {
            auto& keeps = keeper(node);
            ++keeps.counter;
            const bool yes = keeps.take(self, ttl);
            if (!yes) --keeps.counter;
            return Answer{yes, yes ? "OK" : "nil", yes ? keeps.counter : 0};
          }};
}

Request get() {
  return {"GET lock", [](Node& node) {
            const Actor* owner = keeper(node).owner();
            return Answer{owner != nullptr, owner ? owner->stage.kept(owner->name()) : "nil"};
          }};
}

Request del() {
  return {"DEL lock", [](Node& node) { return one(keeper(node).drop("deleted")); }};
}

Request del_if_own(Actor& self) {
  return {self.stage.kept("EVAL: DEL lock if " + self.name()), [&self](Node& node) {
            return one(keeper(node).is_of(self) && keeper(node).drop("released"));
          }};
}

Request extend_if_own(Actor& self, Nanos ttl) {
  return {self.stage.kept("EVAL: PEXPIRE lock if " + self.name()), [&self, ttl](Node& node) {
            if (keeper(node).is_of(self)) keeper(node).extend(ttl);
            return one(keeper(node).is_of(self));
          }};
}

}  // namespace holdfast::lab::exhibits::redis
