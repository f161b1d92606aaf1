// Cells: a change is written only if the cell is still as it was read.
#include <charconv>

#include "stores/etcd/store.hpp"

namespace holdfast::stores::etcd {
namespace {

Cell refused(Said said, Problem problem) {
  Cell cell;
  cell.said = said;
  cell.problem = std::move(problem);
  return cell;
}

// "1 MARK NUMBER BYTES"
std::string write_cell(const CellState& state, std::uint64_t mark) {
  return "1 " + std::to_string(mark) + ' ' + std::to_string(state.number) + ' ' + state.bytes;
}

struct Written {
  CellState state;
  std::uint64_t mark = 0;
};

bool read_cell(const KeyValue& kv, Written& written) {
  std::string_view text = kv.value;
  if (!text.starts_with("1 ")) return false;
  text.remove_prefix(2);
  const auto number = [&](auto& value) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    if (read.ec != std::errc() || !text.starts_with(' ')) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!number(written.mark) || !number(written.state.number)) return false;
  written.state.bytes = text;
  written.state.version = static_cast<std::uint64_t>(kv.modified);
  written.state.expires_us = kv.lease;  // not a time: only says that it expires
  return true;
}

Problem foreign() {
  return {Errc::busy, "foreign",
          "this cell has the layout of a newer version of holdfast; it was left alone"};
}

}  // namespace

struct EtcdStore::CellChange {
  std::string name, bytes;
  std::variant<Add, Swap> what;
  BootTime deadline;

  CellChange(const Add& add, BootTime by) : name(add.name), what(add), deadline(by) {}
  CellChange(const Swap& swap, BootTime by)
      : name(swap.name), bytes(swap.bytes), what(swap), deadline(by) {
    std::get<Swap>(what).bytes = bytes;
  }
  CellChange(const CellChange&) = delete;
  CellChange& operator=(const CellChange&) = delete;

  Cell apply(std::optional<CellState>& state) const {
    if (const Add* add = std::get_if<Add>(&what)) return stores::add(*add, state, 0, 1);
    return stores::swap(std::get<Swap>(what), state, 0, 1);
  }
  Millis expiry() const {
    return std::visit([](const auto& change) { return change.expiry; }, what);
  }
  bool window() const { return std::holds_alternative<Add>(what) && std::get<Add>(what).window; }
};

void EtcdStore::add(const Add& add, Pending<Cell>& call) noexcept {
  courier_.start(call, [&](auto ticket) {
    answer_change(std::make_shared<const CellChange>(add, in_time(call)), std::move(ticket));
  });
}

void EtcdStore::swap(const Swap& swap, Pending<Cell>& call) noexcept {
  courier_.start(call, [&](auto ticket) {
    answer_change(std::make_shared<const CellChange>(swap, in_time(call)), std::move(ticket));
  });
}

void EtcdStore::get(std::string_view name, Pending<Cell>& call) noexcept {
  courier_.start(
      call, [&](auto ticket) { answer_get(std::string(name), in_time(call), std::move(ticket)); });
}

Flow EtcdStore::answer_get(std::string name, BootTime deadline, Ticket<Cell> ticket) {
  const Found found = co_await client_.find(cell_key(name), {}, 0, deadline);
  if (!found.done()) co_return ticket->answer(refused(Said::no, found.problem));
  std::optional<CellState> state;
  if (!found.all.empty()) {
    Written written;
    if (!read_cell(found.all.front(), written))
      co_return ticket->answer(refused(Said::no, foreign()));
    state = std::move(written.state);
  }
  ticket->answer(stores::get(state));
}

Flow EtcdStore::answer_change(std::shared_ptr<const CellChange> change, Ticket<Cell> ticket) {
  const std::string key = cell_key(change->name);
  const BootTime deadline = change->deadline;
  Found found = co_await client_.find(key, {}, 0, deadline);
  if (!found.done()) co_return ticket->answer(refused(Said::no, found.problem));
  std::vector<KeyValue> read = std::move(found.all);
  constexpr int most_rounds = 64;
  for (int round = 0; round < most_rounds; ++round) {
    std::optional<CellState> state;
    Operation put{.what = Operation::What::put, .key = key};
    std::int64_t modified = 0;
    if (!read.empty()) {
      Written written;
      if (!read_cell(read.front(), written)) co_return ticket->answer(refused(Said::no, foreign()));
      state = std::move(written.state);
      modified = read.front().modified;
      put.keep_lease = change->window() && change->expiry() > Millis(0) && read.front().lease != 0;
    }
    Cell cell = change->apply(state);
    if (cell.said != Said::yes) co_return ticket->answer(std::move(cell));
    if (change->expiry() > Millis(0) && !put.keep_lease) {
      const LeaseGranted lease = co_await grant(lease_ttl(change->expiry()), deadline);
      if (!lease.done()) co_return ticket->answer(refused(Said::no, lease.problem));
      put.lease = lease.lease;
    }
    const std::uint64_t mark = random_bits();  // shows that a write is ours if its answer was lost
    put.value = write_cell(*state, mark);
    Transaction step;
    step.when.push_back({Condition::Of::modified, key, modified});
    step.then.push_back(std::move(put));
    step.otherwise.push_back({.what = Operation::What::range, .key = key});
    ticket->sent();
    if (ticket->answered()) co_return;
    Transacted changed = co_await client_.transact(std::move(step), deadline);
    if (!changed.done())
      co_return ticket->answer(
          refused(changed.outcome == Outcome::refused ? Said::no : Said::unknown, changed.problem));
    cell.version = static_cast<std::uint64_t>(changed.revision);
    if (changed.held) co_return ticket->answer(std::move(cell));
    read = std::move(changed.found.back());
    if (!changed.repeated) continue;
    // An earlier copy of this request may have been applied.
    Written written;
    if (read.empty() || !read_cell(read.front(), written) || written.mark != mark)
      co_return ticket->answer(refused(Said::unknown, changed.problem));
    cell.version = written.state.version;
    co_return ticket->answer(std::move(cell));
  }
  ticket->answer(
      refused(Said::no, {Errc::unavailable, "too_slow", "others change this cell all the time"}));
}

}  // namespace holdfast::stores::etcd
