// The fourth room: a master, a replica that lags a little, and what happens when the master dies.
#include "lab/exhibits/commands.hpp"
#include "lab/exhibits/exhibit.hpp"
#include "lab/exhibits/ledger.hpp"

namespace holdfast::lab::exhibits {
namespace {

constexpr Nanos ttl = 600ms;
constexpr Time crash = 60ms;
constexpr Time promotion = 180ms;

enum class Token { none, of_the_store, of_the_ledger };

struct Pair {
  Keeper& master;
  Keeper& replica;
  Ledger& ledger;
  Token token;
  // The master that Sentinel names.
  Node& current(const Actor& self) const {
    return self.stage.world.now() < promotion ? master : replica;
  }
};

Script writes_under_failover(Actor& self, Pair pair, Nanos work) {
  self.asks();
  Answer lock;
  while (!lock.yes) {
    Request request =
        pair.token == Token::of_the_store ? redis::set_and_count(self, ttl) : redis::set(self, ttl);
    request.wait = 100ms;
    lock = co_await Question(self, pair.current(self), std::move(request));
    if (!lock.yes) co_await self.sleep(40ms);
  }
  std::uint64_t token = lock.number;
  if (pair.token == Token::of_the_ledger)
    token = (co_await Question(self, pair.ledger, pair.ledger.draw())).number;
  self.enters(token);
  co_await self.sleep(work);
  const Answer written = co_await Question(self, pair.ledger, pair.ledger.write(self, token));
  if (!written.yes) self.loses("its token is too old");
  self.leaves();
  co_await Question(self, pair.current(self), redis::del_if_own(self));
}

template <Token token>
void failover(Stage& stage) {
  auto& master = stage.node<Keeper>("master");
  auto& replica = stage.node<Keeper>("replica");
  auto& ledger = stage.node<Ledger>("ledger", token == Token::none ? Fence::off : Fence::on);
  const Pair pair{master, replica, ledger, token};
  master.copies_to(replica, 100ms);
  auto& a = stage.actor();
  auto& b = stage.actor();
  a.plays(0ms, writes_under_failover(a, pair, 470ms));
  b.plays(90ms, writes_under_failover(b, pair, 120ms));
  master.dies(crash);
  replica.takes_over(promotion);
  stage.end = 700ms;
}

constexpr Exhibit exhibits[] = {
    {.name = "failover",
     .title = "A master with an asynchronous replica: the failover forgets the lock",
     .algorithm = "until SET lock A NX PX 600 on the master = OK: sleep\n"
                  "work\n"
                  "write the result to the ledger\n"
                  "EVAL on the master: if GET lock = A then DEL lock",
     .story = "The master says OK to A and dies before it told its replica. The replica becomes "
              "the master and knows nothing of the lock: B gets it, too. Both write; the older "
              "result stays.",
     .lesson = "An answer that only one machine knows of is lost with that machine. First try: "
               "number the grants, and have the ledger check.",
     .next = "failover-token",
     .play = failover<Token::none>},
    {.name = "failover-token",
     .title = "The same failover, with tokens that are counted by the store that forgets",
     .algorithm = "until EVAL on the master: SET lock A NX PX 600, INCR counter = token: sleep\n"
                  "work\n"
                  "write the result and the token to the ledger\n"
                  "EVAL on the master: if GET lock = A then DEL lock",
     .story = "The counter is forgotten with the lock. A has token 33 of the old master, B has "
              "token 33 of the new one, and the ledger cannot tell them apart.",
     .lesson =
         "A token must grow whatever happens to the store: from consensus, from the protected "
         "resource itself, or, as holdfast has it on Redis, never below the server's time.",
     .next = "failover-fenced",
     .play = failover<Token::of_the_store>},
    {.name = "failover-fenced",
     .title = "The same failover, with numbers drawn from the ledger itself",
     .algorithm = "until SET lock A NX PX 600 on the master = OK: sleep\n"
                  "draw a number from the ledger\n"
                  "work\n"
                  "write the result and the number to the ledger\n"
                  "EVAL on the master: if GET lock = A then DEL lock",
     .story = "The ledger does not forget with the master: A drew 33, B drew 34. B writes, and A "
              "is refused when it comes.",
     .lesson =
         "The resource is safe; that two worked at once is still a waste. Can the lock itself "
         "survive the loss of a machine? Ask several, and count a majority.",
     .next = "redlock",
     .play = failover<Token::of_the_ledger>},
};

}  // namespace

std::span<const Exhibit> failover_room() { return exhibits; }

}  // namespace holdfast::lab::exhibits
