// The last room: a row in a database, which never expires by itself.
#include "lab/exhibits/exhibit.hpp"
#include "lab/exhibits/keeper.hpp"
#include "lab/exhibits/ledger.hpp"

namespace holdfast::lab::exhibits {
namespace {

constexpr Nanos again = 80ms;

// A table with a unique name, and a sequence that numbers the rows.
class Table : public Keeper {
 public:
  using Keeper::Keeper;
  Request insert(Actor& self) {
    return {self.stage.kept("INSERT lock, " + self.name()), [this, &self](Node&) {
              const bool yes = take(self, {});
              return Answer{yes, yes ? "1 row" : "duplicate", yes ? ++counter : 0};
            }};
  }
  Request remove(Actor& self) {
    return {self.stage.kept("DELETE lock WHERE owner = " + self.name()), [this, &self](Node&) {
              const bool yes = is_of(self) && drop("released");
              return Answer{yes, yes ? "1 row" : "0 rows"};
            }};
  }
  Request sweep() {
    return {"DELETE WHERE age > 300 ms", [this](Node&) {
              const bool yes = drop("swept");
              return Answer{yes, yes ? "1 row" : "0 rows"};
            }};
  }
};

Script with_row(Actor& self, Table& table, Ledger* ledger, Nanos work) {
  self.asks();
  Answer row;
  while (!row.yes) {
    row = co_await Question(self, table, table.insert(self));
    if (!row.yes) co_await self.sleep(again);
  }
  const std::uint64_t token = ledger && ledger->fence() == Fence::on ? row.number : 0;
  self.enters(token);
  co_await self.sleep(work);
  if (ledger) {
    const Answer written = co_await Question(self, *ledger, ledger->write(self, token));
    if (!written.yes) self.loses("its token is too old");
  }
  self.leaves();
  co_await Question(self, table, table.remove(self));
}

void row(Stage& stage) {
  auto& table = stage.node<Table>("database");
  auto& a = stage.actor();
  auto& b = stage.actor();
  a.plays(0ms, with_row(a, table, nullptr, 200ms));
  b.plays(80ms, with_row(b, table, nullptr, 200ms));
  a.dies(150ms);
  stage.end = 900ms;
}

Script sweeps(Actor& self, Table& table) { co_await Question(self, table, table.sweep()); }

template <Fence fence>
void row_swept(Stage& stage) {
  auto& table = stage.node<Table>("database");
  auto& ledger = stage.node<Ledger>("ledger", fence);
  auto& a = stage.actor();
  auto& b = stage.actor();
  auto& sweeper = stage.actor("sweeper");
  a.plays(0ms, with_row(a, table, &ledger, 200ms));
  b.plays(100ms, with_row(b, table, &ledger, 100ms));
  sweeper.plays(350ms, sweeps(sweeper, table));
  a.pauses(150ms, 620ms);
  stage.end = 780ms;
}

constexpr Exhibit exhibits[] = {
    {.name = "database-row",
     .title = "A row in a database without an expiry: the holder dies",
     .algorithm = "until INSERT of the unique row succeeds: sleep\n"
                  "work\n"
                  "DELETE the row",
     .story = "A inserts the row and dies. The row is as durable as the database makes it: B finds "
              "it there for ever.",
     .lesson = "It is SETNX again. Somebody will write a job that deletes old rows.",
     .next = "database-row-swept",
     .play = row},
    {.name = "database-row-swept",
     .title = "The same row, and a job that deletes rows which look forgotten",
     .algorithm = "until INSERT of the unique row succeeds: sleep\n"
                  "work\n"
                  "write the result to the ledger\n"
                  "DELETE the row\n"
                  "a sweeper: DELETE rows older than 300 ms",
     .story =
         "A is not dead, only paused. The sweeper deletes its row, B gets in and writes, and A "
         "wakes up and writes over it. A sweeper is an expiry by another name.",
     .lesson = "Whatever frees a lock without its holder needs a token at the resource.",
     .next = "database-row-fenced",
     .play = row_swept<Fence::off>},
    {.name = "database-row-fenced",
     .title = "The same sweeper, and a ledger that refuses old tokens",
     .algorithm = "until INSERT of the unique row succeeds: sleep; its number is the token\n"
                  "work\n"
                  "write the result and the token to the ledger\n"
                  "DELETE the row\n"
                  "a sweeper: DELETE rows older than 300 ms",
     .story =
         "Rows are numbered by a sequence: 33 for A, 34 for B. The late write of A is refused. "
         "If lock and data are in one database, the check is one condition in the same "
         "transaction.",
     .lesson = "Of all these locks none was safe under a pause, and all of them were with a token.",
     .next = "",
     .play = row_swept<Fence::on>},
};

}  // namespace

std::span<const Exhibit> row_room() { return exhibits; }

}  // namespace holdfast::lab::exhibits
