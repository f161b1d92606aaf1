// What the store says about itself.
#include <sstream>
#include <utility>

#include "core/text.hpp"
#include "stores/zookeeper/store.hpp"
#include "stores/zookeeper/trouble.hpp"

namespace holdfast::stores::zookeeper {
namespace {

constexpr auto config_path = "/zookeeper/config";

// A standalone server has an empty config.
std::size_t voters_in(const std::string& config) {
  std::istringstream lines(config);
  std::size_t voters = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("server.") && line.find(":observer") == line.npos) ++voters;
  return voters;
}

std::string in_ms(Millis time) { return std::to_string(time.count()) + " ms"; }

}  // namespace

Flow ZooKeeperStore::state_guarantees(Courier::Ticket<Promise> ticket) {
  ticket->trouble(keeper_.unreachable());
  const auto [session, problem] = co_await keeper_.session();
  Promise promise;
  promise.problem = problem;
  if (!session) co_return ticket->answer(std::move(promise));
  const Outcome config = co_await session->get(config_path);
  const std::size_t voters = config.rc == ZOK ? voters_in(config.text) : 0;
  Guarantees& given = promise.guarantees;
  given = {.purpose = Purpose::correctness,
           .tokens = true,
           .fifo = true,
           .survives_restart = true,
           .survives_power_loss = true,
           .survives_clock_jump = true,
           .because = {}};
  const auto say = [&](std::string fact) { given.because.push_back(std::move(fact)); };
  if (config.rc != ZOK) {
    say("unknown: may not read how many servers there are (/zookeeper/config)");
  } else if (voters > 1) {
    say(std::to_string(voters) + " servers agree on every grant: it survives the loss of " +
        std::to_string((voters - 1) / 2));
  } else {
    say("one server: while it is down nothing is granted, and leases end as lost");
  }
  say("each grant is on the servers' disks before it is told, unless they run with forceSync=no");
  say("time is counted on clocks that nobody sets; a lease is counted from before the last write "
      "or sync that was answered, less the tick of " +
      in_ms(options_.tick));
  say("all leases live as long as the session, " + in_ms(session->timeout()) +
      ", whatever ttl was asked for");
  say("numbers are the servers' transaction numbers");
  say("whoever may connect can end any session: its password follows from its id");
  co_return ticket->answer(std::move(promise));
}

Flow ZooKeeperStore::state_facts(Courier::Ticket<Inspection> ticket) {
  ticket->trouble(keeper_.unreachable());
  const auto [session, problem] = co_await keeper_.session();
  Inspection inspection;
  inspection.problem = problem;
  if (!session) co_return ticket->answer(std::move(inspection));
  const Outcome config = co_await session->get(config_path);
  const auto state = [&](const char* word, std::string text) {
    inspection.facts.push_back({word, std::move(text)});
  };
  state("server", core::escaped(session->server(), 200));
  if (config.rc == ZOK) {
    const std::size_t voters = voters_in(config.text);
    state("servers", voters > 1 ? std::to_string(voters) + " that vote" : "one");
  }
  state("session", in_ms(session->timeout()) + ", asked for " + in_ms(options_.session));
  state("tick", in_ms(options_.tick));
  state("rights", options_.creator_only ? "whoever made a node" : "anybody");
  co_return ticket->answer(std::move(inspection));
}

// Creates the folders, so that users with fewer rights find them.
Flow ZooKeeperStore::make_folders(Courier::Ticket<Answer> ticket) {
  ticket->trouble(keeper_.unreachable());
  for (;;) {
    const auto [session, problem] = co_await keeper_.session();
    if (!session) co_return ticket->answer(refused(Said::no, problem));
    if (ticket->answered()) co_return;
    ticket->sent();
    int rc = ZOK;
    for (const std::string& folder : {paths_.locks(), paths_.cells()})
      if (rc == ZOK) rc = co_await make_path(folder, Node::persistent, session);
    if (was_lost(rc) || is_over(rc)) continue;
    Answer answer;
    answer.said = Said::yes;
    if (rc != ZOK) answer = refused(Said::no, problem_of(rc, paths_.locks()));
    co_return ticket->answer(std::move(answer));
  }
}

}  // namespace holdfast::stores::zookeeper
