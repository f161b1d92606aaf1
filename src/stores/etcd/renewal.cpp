// Keeps held claims alive, and checks that they are still there.
#include <algorithm>

#include "stores/etcd/asked.hpp"
#include "stores/etcd/store.hpp"

namespace holdfast::stores::etcd {
namespace {

constexpr int most_attempts = 4;

}  // namespace

struct EtcdStore::Renewing {
  EntryPtr entry;
  std::string key{};
  std::int64_t lease = 0;
  std::int64_t delay_lease = 0;  // 0: it has none
  std::int64_t created = 0;
  std::uint32_t weight = 0;  // to lower it to; 0: leave it
  BootTime began = BootClock::now();
  std::optional<Answer> answer{};
  LeaseKept kept{};
};

void EtcdStore::renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept {
  courier_.start(call, keeps.size(), [&](auto ticket) {
    std::vector<Keep> all(keeps.begin(), keeps.end());
    for (Keep& keep : all) keep.name = {};
    answer_renew(std::move(all), in_time(call), std::move(ticket));
  });
}

Flow EtcdStore::answer_renew(std::vector<Keep> keeps, BootTime deadline,
                             Ticket<std::span<Answer>> ticket) {
  ticket->sent();
  std::vector<Renewing> all(keeps.size());
  for (std::size_t i = 0; i < keeps.size(); ++i) begin_renewing(keeps[i], all[i]);
  for (Renewing& each : all)
    if (!each.answer && each.weight != 0)
      each.answer = co_await lower(each.entry, each.weight, deadline);
  for (int round = 0; round < most_attempts; ++round)
    if (co_await renew_once(all, deadline) || BootClock::now() >= deadline) break;
  std::vector<Answer> answers;
  for (Renewing& each : all) {
    if (!each.answer) {
      each.answer.emplace();
      each.answer->said = Said::unknown;
      each.answer->problem = each.kept.problem;
    }
    answers.push_back(std::move(*each.answer));
  }
  ticket->answer(std::move(answers));
}

void EtcdStore::begin_renewing(const Keep& keep, Renewing& one) {
  one.entry = find(keep.claim);
  if (!one.entry) {
    one.answer = not_held();
    return;
  }
  const std::lock_guard lock(mutex_);
  const Entry& entry = *one.entry;
  if (entry.created == 0 || !entry.lease) {
    one.answer = not_held();
  } else if (keep.weight == 0 || keep.weight > entry.shape.weight) {
    one.answer = refusal(Errc::invalid, "weight", "a renewal can only lower the weight");
  } else {
    one.key = entry.key;
    one.lease = entry.lease->id;
    if (entry.delay_written && entry.delay_lease) one.delay_lease = entry.delay_lease->id;
    one.created = entry.created;
    if (keep.weight < entry.shape.weight) one.weight = keep.weight;
  }
}

// True if all are answered. First come the keep-alives of all; then one read, sent after their
// answers, shows whether they count and whether the keys are there.
Later<bool> EtcdStore::renew_once(std::vector<Renewing>& all, BootTime deadline) {
  std::vector<std::pair<Renewing*, Later<LeaseKept>>> asked;
  for (Renewing& each : all)
    if (!each.answer)
      asked.emplace_back(&each, client_.keep(each.lease, deadline, Keeping::from_then_on));
  std::vector<Renewing*> kept;
  for (auto& [each, later] : asked) {
    each->kept = co_await later;
    if (!each->kept.done()) continue;
    if (each->kept.ttl > each->kept.ttl.zero()) {
      kept.push_back(each);
    } else {
      each->answer = not_held();
    }
  }
  co_await keep_delays(kept, deadline);
  constexpr std::size_t most_at_once = 100;  // keys of one transaction
  std::vector<Later<Transacted>> reads;
  for (std::size_t begin = 0; begin < kept.size(); begin += most_at_once) {
    Transaction step;
    for (std::size_t i = begin; i < std::min(begin + most_at_once, kept.size()); ++i)
      step.then.push_back({.what = Operation::What::range, .key = kept[i]->key});
    reads.push_back(client_.transact(std::move(step), deadline));
  }
  for (std::size_t chunk = 0; chunk < reads.size(); ++chunk) {
    const Transacted read = co_await reads[chunk];
    const std::size_t begin = chunk * most_at_once;
    for (std::size_t i = begin; i < std::min(begin + most_at_once, kept.size()); ++i)
      finish_renewing(*kept[i], read, i - begin);
  }
  co_return std::ranges::all_of(all, [](const Renewing& each) { return each.answer.has_value(); });
}

// After the claims' own leases, because a delay must end later than its claim. A renewal counts
// only if the keep-alive of its delay was answered. A delay that was removed is not written again.
Later<bool> EtcdStore::keep_delays(std::vector<Renewing*>& kept, BootTime deadline) {
  std::vector<std::pair<Renewing*, Later<LeaseKept>>> asked;
  for (Renewing* each : kept)
    if (each->delay_lease != 0) asked.emplace_back(each, client_.keep(each->delay_lease, deadline));
  for (auto& [each, later] : asked) {
    const LeaseKept delay = co_await later;
    if (delay.done()) continue;
    each->kept.problem = delay.problem;
    std::erase(kept, each);
  }
  co_return true;
}

void EtcdStore::finish_renewing(Renewing& one, const Transacted& read, std::size_t at) {
  if (!read.done()) {
    one.kept.problem = read.problem;
    return;
  }
  const Row row = layout_.read(one.entry->prefix, read.found[at]);
  if (row.line.empty() || row.line.front().created != one.created) {
    one.answer = not_held();
  } else if (row.line.front().revoked) {
    one.answer = revoked();
  } else if (read.term == one.kept.term) {
    const std::lock_guard lock(mutex_);
    Entry& entry = *one.entry;
    if (entry.lease && entry.lease->id == one.lease) entry.lease->prove(one.kept, read.term);
    one.answer.emplace();
    one.answer->said = Said::yes;
    one.answer->number = static_cast<std::uint64_t>(one.created);
    // The core counts from when it asked, which may be after an earlier keep-alive was sent.
    const auto left = std::chrono::floor<Millis>(one.kept.sent + one.kept.ttl - one.began);
    one.answer->ttl = std::min<Millis>(left, one.kept.ttl);
  } else {
    one.kept.problem = {Errc::unavailable, "leader_changed",
                        "etcd is choosing another leader: a keep-alive does not count yet"};
  }
}

// Empty: it was lowered.
Later<std::optional<Answer>> EtcdStore::lower(EntryPtr entry, std::uint32_t weight,
                                              BootTime deadline) {
  const Turn::Held turn = co_await entry->turn.take();
  for (int round = 0; round < most_attempts; ++round) {
    Standing lowered = entry->standing();
    lowered.shape.weight = weight;
    Transaction step;
    step.when.push_back({Condition::Of::modified, entry->key, modified(*entry)});
    step.then.push_back({.what = Operation::What::put,
                         .key = entry->key,
                         .value = layout_.write(lowered),
                         .keep_lease = true});
    step.otherwise.push_back({.what = Operation::What::range, .key = entry->key});
    const Transacted written = co_await client_.transact(std::move(step), deadline);
    if (!written.done()) {
      Answer answer;
      answer.said = Said::unknown;
      answer.problem = written.problem;
      co_return answer;
    }
    if (written.held) {
      set_modified(*entry, written.revision);
      const std::lock_guard lock(mutex_);
      entry->shape.weight = weight;
      co_return std::nullopt;
    }
    const Row row = layout_.read(entry->prefix, written.found.back());
    if (row.line.empty() || row.line.front().created != entry->created) co_return not_held();
    if (row.line.front().revoked) co_return revoked();
    set_modified(*entry, row.line.front().modified);
  }
  co_return refusal(Errc::unavailable, "too_slow", "its key changes all the time");
}

}  // namespace holdfast::stores::etcd
