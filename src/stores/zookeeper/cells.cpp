#include "stores/zookeeper/cells.hpp"

#include <charconv>
#include <utility>

#include "stores/zookeeper/trouble.hpp"

namespace holdfast::stores::zookeeper {
namespace {

// "VERSION NUMBER EXPIRY_MS EXPIRES_US\n", then the bytes.
std::string written(const CellState& state) {
  return std::to_string(state.version) + " " + std::to_string(state.number) + " " +
         std::to_string(state.expiry.count()) + " " + std::to_string(state.expires_us) + "\n" +
         state.bytes;
}

std::optional<CellState> read_state(const std::string& data) {
  CellState state;
  std::int64_t expiry = 0;
  const char* at = data.data();
  const char* const end = at + data.size();
  const auto take = [&](auto& number, char after) {
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != after) return false;
    at = read.ptr + 1;
    return true;
  };
  if (!take(state.version, ' ') || !take(state.number, ' ') || !take(expiry, ' ') ||
      !take(state.expires_us, '\n'))
    return std::nullopt;
  state.expiry = Millis(expiry);
  state.bytes.assign(at, end);
  return state;
}

Cell failed(Said said, Problem problem) {
  Cell cell;
  cell.said = said;
  cell.problem = std::move(problem);
  return cell;
}

Cell foreign(const std::string& path) {
  return failed(Said::no, {Errc::corrupt, "foreign", "no cell of ours lies at " + path});
}

}  // namespace

void CellFolder::add(const Add& add, Courier::Ticket<Cell> ticket) {
  change(
      paths_.cell(add.name), add.expiry > Millis(0),
      [add](State& state, std::int64_t now_us, std::uint64_t first) {
        return stores::add(add, state, now_us, first);
      },
      std::move(ticket));
}

void CellFolder::swap(const Swap& swap, Courier::Ticket<Cell> ticket) {
  change(
      paths_.cell(swap.name), swap.expiry > Millis(0),
      [swap, bytes = std::string(swap.bytes)](State& state, std::int64_t now_us,
                                              std::uint64_t first) {
        Swap lasting = swap;
        lasting.bytes = bytes;
        return stores::swap(lasting, state, now_us, first);
      },
      std::move(ticket));
}

void CellFolder::get(std::string_view name, Courier::Ticket<Cell> ticket) {
  read(paths_.cell(name), std::move(ticket));
}

Flow CellFolder::change(std::string path, bool expires, Change change,
                        Courier::Ticket<Cell> ticket) {
  ticket->trouble(keeper_.unreachable());
  for (;;) {
    const auto [session, problem] = co_await keeper_.session();
    if (!session) co_return ticket->answer(failed(Said::no, problem));
    if (ticket->answered()) co_return;
    const Outcome node = co_await session->get(path);
    if (was_lost(node.rc) || is_over(node.rc)) continue;
    if (node.rc != ZOK && node.rc != ZNONODE)
      co_return ticket->answer(failed(Said::no, problem_of(node.rc, path)));
    State state;
    if (node.rc == ZOK && !(state = read_state(node.text))) co_return ticket->answer(foreign(path));
    const std::uint64_t first_version = state ? state->version + 1 : 1;
    std::int64_t now_us = 0;
    if (expires || (state && state->expires_us != 0)) {
      const auto told = co_await server_us(session);
      if (!told) continue;
      now_us = *told;
    }
    if (state && state->expired(now_us)) state.reset();
    Cell cell = change(state, now_us, first_version);
    if (cell.said != Said::yes) co_return ticket->answer(std::move(cell));

    ticket->sent();
    if (ticket->answered()) co_return;
    const int version = node.rc == ZOK ? node.stat.version : -1;
    const Outcome done = co_await write(path, written(*state), version, session);
    if (done.rc == ZBADVERSION || done.rc == ZNODEEXISTS || done.rc == ZNONODE) continue;
    if (done.rc != ZOK) {
      const Said said = was_lost(done.rc) || is_over(done.rc) ? Said::unknown : Said::no;
      co_return ticket->answer(failed(said, problem_of(done.rc, path)));
    }
    co_return ticket->answer(std::move(cell));
  }
}

Flow CellFolder::read(std::string path, Courier::Ticket<Cell> ticket) {
  ticket->trouble(keeper_.unreachable());
  for (;;) {
    const auto [session, problem] = co_await keeper_.session();
    if (!session) co_return ticket->answer(failed(Said::no, problem));
    if (ticket->answered()) co_return;
    Operation syncing = session->sync(path);
    Operation reading = session->get(path);
    const Outcome synced = co_await syncing;
    const Outcome node = co_await reading;
    const int rc = synced.rc != ZOK ? synced.rc : node.rc;
    if (was_lost(rc) || is_over(rc)) continue;
    if (rc != ZOK && rc != ZNONODE)
      co_return ticket->answer(failed(Said::no, problem_of(rc, path)));
    State state;
    if (rc == ZOK && !(state = read_state(node.text))) co_return ticket->answer(foreign(path));
    if (state && state->expires_us != 0) {
      const auto told = co_await server_us(session);
      if (!told) continue;
      if (state->expired(*told)) state.reset();
    }
    co_return ticket->answer(stores::get(state));
  }
}

Task<Outcome> CellFolder::write(std::string path, std::string data, int version,
                                std::shared_ptr<Session> session) {
  if (version >= 0) co_return co_await session->set(path, data, version);
  Outcome made = co_await session->create(path, data, Node::persistent);
  if (made.rc != ZNONODE) co_return made;
  const int rc = co_await make_path(paths_.cells(), Node::persistent, session);
  if (rc != ZOK) {
    made.rc = rc;
    co_return made;
  }
  co_return co_await session->create(path, data, Node::persistent);
}

// nullopt: the server did not answer, or refused.
Task<std::optional<std::int64_t>> CellFolder::server_us(std::shared_ptr<Session> session) {
  for (;;) {
    const Outcome written = co_await session->set(paths_.clock(), "");
    if (written.rc == ZOK) co_return written.stat.mtime * 1000;
    if (written.rc != ZNONODE) co_return std::nullopt;
    const int rc = co_await make_path(paths_.clock(), Node::persistent, session);
    if (rc != ZOK) co_return std::nullopt;
  }
}

}  // namespace holdfast::stores::zookeeper
