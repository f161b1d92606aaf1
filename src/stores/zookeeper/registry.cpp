#include "stores/zookeeper/registry.hpp"

#include <algorithm>
#include <utility>

#include "stores/zookeeper/trouble.hpp"

namespace holdfast::stores::zookeeper {
namespace {

constexpr std::size_t at_once = 64;  // locks whose children we ask for before the first answer

Problem not_a_path() { return {Errc::invalid, "name", "in a dialect a name is a path"}; }

}  // namespace

// A listing must show everything that was done before it, but a server may lag behind the others.
// So every read follows a sync, whose answer is awaited only at the end.
Flow Registry::tell_holders(std::string of, bool of_one, Courier::Ticket<Listing> ticket) {
  ticket->trouble(keeper_.unreachable());
  const std::string folder = of_one ? layout_.lock(of).value_or("") : paths_.locks();
  for (;;) {
    Listing listing;
    listing.problem = not_a_path();
    if (folder.empty()) co_return ticket->answer(std::move(listing));
    const auto [session, problem] = co_await keeper_.session();
    listing.problem = problem;
    if (!session || ticket->answered()) co_return ticket->answer(std::move(listing));
    Operation syncing = session->sync(folder);
    Outcome found;
    if (of_one) {
      found.names.push_back(of);
    } else {
      found = co_await names(of, session);
    }
    int rc = found.rc;
    for (std::size_t i = 0; rc == ZOK && i < found.names.size(); i += at_once) {
      const auto first = found.names.begin() + static_cast<std::ptrdiff_t>(i);
      const std::size_t count = std::min(at_once, found.names.size() - i);
      std::vector<std::string> some(first, first + static_cast<std::ptrdiff_t>(count));
      rc = co_await list_some(std::move(some), session, listing);
      if (!of_one) ticket->looked_at(i + count);
      if (ticket->answered()) co_return;
    }
    const Outcome synced = co_await syncing;
    if (synced.rc != ZOK) rc = synced.rc;
    if (was_lost(rc) || is_over(rc)) continue;
    if (rc != ZOK && rc != ZNONODE) listing.problem = problem_of(rc, folder);
    co_return ticket->answer(std::move(listing));
  }
}

// In a dialect we know no names but the one that was asked for.
Task<Outcome> Registry::names(std::string prefix, std::shared_ptr<Session> session) {
  Outcome found;
  if (options_.dialect != Dialect::own) {
    if (layout_.lock(prefix)) found.names.push_back(prefix);
    co_return found;
  }
  const Outcome folders = co_await session->children(paths_.locks());
  found.rc = folders.rc;
  for (const std::string& folder : folders.names)
    if (auto name = name_of(folder); name && name->starts_with(prefix))
      found.names.push_back(std::move(*name));
  std::ranges::sort(found.names);
  co_return found;
}

Task<int> Registry::list_some(std::vector<std::string> names, std::shared_ptr<Session> session,
                              Listing& listing) {
  std::vector<Operation> folders;
  for (const std::string& name : names) folders.push_back(session->children(*layout_.lock(name)));
  std::vector<Line> lines;
  std::vector<std::vector<Operation>> readings;
  int rc = ZOK;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Outcome children = co_await folders[i];
    if (children.rc != ZOK && children.rc != ZNONODE) rc = children.rc;
    lines.emplace_back(children.names, layout_);
    std::vector<Operation>& nodes = readings.emplace_back();
    for (const Child& child : lines.back().claims)
      nodes.push_back(session->get(*layout_.lock(names[i]) + "/" + child.name));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t granted = stores::granted(lines[i].claims);
    for (std::size_t j = 0; j < readings[i].size(); ++j) {
      const Outcome node = co_await readings[i][j];
      if (node.rc == ZNONODE) continue;  // it has just gone
      if (node.rc != ZOK) rc = node.rc;
      Holder holder = describe(layout_, names[i], lines[i].claims[j], node.stat.czxid, node.text);
      holder.waits = j >= granted;
      listing.holders.push_back(std::move(holder));
    }
  }
  co_return rc;
}

Flow Registry::revoke(std::string name, bool now, Courier::Ticket<Answer> ticket) {
  ticket->trouble(keeper_.unreachable());
  const std::string folder = layout_.lock(name).value_or("");
  if (folder.empty() || (options_.dialect == Dialect::kazoo && !now)) {
    Answer answer = refused(
        Said::no, folder.empty()
                      ? not_a_path()
                      : Problem{Errc::unsupported, "dialect",
                                "kazoo's locks cannot be asked to let go, only be broken at once"});
    co_return ticket->answer(std::move(answer));
  }
  for (;;) {
    const auto [session, problem] = co_await keeper_.session();
    if (!session) co_return ticket->answer(refused(Said::no, problem));
    if (ticket->answered()) co_return;
    Operation syncing = session->sync(folder);
    Operation reading = session->children(folder);
    const Outcome synced = co_await syncing;
    const Outcome children = co_await reading;
    int rc = synced.rc != ZOK ? synced.rc : children.rc;
    const Line line(children.names, layout_);
    const std::size_t granted = stores::granted(line.claims);
    if (rc == ZNONODE || (rc == ZOK && granted == 0))
      co_return ticket->answer(refused(Said::gone, {Errc::lost, "not_held", "nobody holds it"}));
    ticket->sent();
    for (std::size_t i = 0; rc == ZOK && i < granted; ++i) {
      const Child& holder = line.claims[i];
      std::string marker;
      for (const std::string& other : children.names)
        if (const auto read = layout_.read_marker(other); read && read->claim == holder.claim)
          marker = other;
      rc = co_await revoke_one(folder, holder.name, marker, now, session);
    }
    if (was_lost(rc) || is_over(rc)) continue;
    Answer answer;
    answer.said = Said::yes;
    if (rc != ZOK) answer = refused(Said::unknown, problem_of(rc, folder));
    co_return ticket->answer(std::move(answer));
  }
}

// The owner watches its node, so marking it is enough. If the owner changes the node meanwhile, it
// is read and marked again; a node that is gone needs no mark.
Task<int> Registry::revoke_one(std::string folder, std::string child, std::string marker, bool now,
                               std::shared_ptr<Session> session) {
  const std::string path = folder + "/" + child;
  if (now) {
    if (!marker.empty()) co_await session->remove(folder + "/" + marker);
    const Outcome removed = co_await session->remove(path);
    co_return removed.rc == ZNONODE ? ZOK : removed.rc;
  }
  for (;;) {
    const Outcome node = co_await session->get(path);
    if (node.rc == ZNONODE) co_return ZOK;
    if (node.rc != ZOK) co_return node.rc;
    Note note = layout_.read_note(node.text);
    note.revoked = true;
    const Outcome changed = co_await session->set(path, layout_.written(note), node.stat.version);
    if (changed.rc == ZNONODE) co_return ZOK;
    if (changed.rc != ZBADVERSION) co_return changed.rc;
  }
}

}  // namespace holdfast::stores::zookeeper
