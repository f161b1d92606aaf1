#include "lab/stores/remote.hpp"

#include <utility>

#include "core/teeth.hpp"
#include "lab/gate_step.hpp"

namespace holdfast::lab {

using core::mutated;
using core::Mutation;

namespace {

// The requests of one call go to several nodes; the call is answered when all requests are.
struct Gathering {
  Gathering(std::size_t count, Pending<std::span<Answer>>& of) : answers(count), call(of) {}
  Answers answers;
  std::size_t missing = 0;
  Pending<std::span<Answer>>& call;
};

}  // namespace

Remote::Remote(Site& site, Process& process)
    : site_(site),
      process_(process),
      party_{static_cast<std::uint64_t>(process.number()), process.life()} {}

void Remote::ask(const Ask& ask, Pending<Answer>& call) noexcept {
  const std::uint16_t name = site_.scene().lock_named(ask.name);
  const auto& waiting = process_.shop()->gate(name).waiting;
  Node& node = site_.serving(name);
  const auto work =
      [site = &site_, &node, ask = lasting(ask), party = party_,
       about = about_of(waiting.empty() ? 0 : waiting.front(), ask.fair)](Answers& answers) {
        Ask asked = ask;
        asked.about = about;
        answers.push_back(site->ask(node, asked, party));
      };
  process_.desk().send(node, call.deadline, 1, work,
                       [this, &node, &call, name](std::span<Answer> answers) {
                         if (answers[0].said != Said::yes || !mutated(Mutation::number_second_step))
                           return call.done(std::move(answers[0]));
                         process_.desk().send(
                             node, call.deadline, 1,
                             [site = &site_, &node, name](Answers& minted) {
                               minted.push_back(site->mint(node, name));
                             },
                             [&call, granted = answers[0]](std::span<Answer> minted) {
                               Answer answer = minted[0].said == Said::yes ? granted : minted[0];
                               answer.number = minted[0].number;
                               call.done(std::move(answer));
                             });
                       });
}

// The requests of each node travel together.
template <class Request, class Step>
void Remote::send_all(std::span<const Request> requests, Pending<std::span<Answer>>& call,
                      const Step& step) {
  const auto all = std::make_shared<Gathering>(requests.size(), call);
  std::vector<std::pair<Node*, std::vector<std::size_t>>> parts;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Node* node = &site_.serving(site_.scene().lock_named(requests[i].name));
    auto part = std::ranges::find(parts, node, [](const auto& one) { return one.first; });
    if (part == parts.end()) part = parts.insert(part, {node, {}});
    part->second.push_back(i);
  }
  all->missing = parts.size();
  for (const auto& [node, members] : parts) {
    std::vector<Request> mine;
    for (const std::size_t i : members) mine.push_back(lasting(requests[i]));
    process_.desk().send(
        *node, call.deadline, mine.size(),
        [step, at = node, mine](Answers& answers) {
          for (const Request& request : mine) answers.push_back(step(*at, request));
        },
        [all, which = members](std::span<Answer> answers) {
          for (std::size_t i = 0; i < which.size(); ++i)
            all->answers[which[i]] = std::move(answers[i]);
          if (--all->missing == 0) all->call.done(all->answers);
        });
  }
}

void Remote::renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept {
  send_all(keeps, call, [site = &site_, process = process_.number()](Node& node, const Keep& keep) {
    return site->renew(node, keep, process);
  });
}

void Remote::release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept {
  send_all(drops, call, [site = &site_, process = process_.number()](Node& node, const Drop& drop) {
    return site->release(node, drop, process);
  });
}

void Remote::revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept {
  const std::uint16_t lock = site_.scene().lock_named(name);
  Node& node = site_.serving(lock);
  process_.desk().send(
      node, call.deadline, 1,
      [site = &site_, &node, lock, now](Answers& answers) {
        answers.push_back(site->revoke(node, lock, now));
      },
      [&call](std::span<Answer> answers) { call.done(std::move(answers[0])); });
}

// Listings skip the network and show the present state, because no client in the laboratory reads
// them.
void Remote::describe(std::string_view name, Pending<Listing>& call) noexcept {
  Listing listing;
  listing.holders = site_.holders(site_.scene().lock_named(name));
  call.done(std::move(listing));
}

void Remote::list(std::string_view prefix, Pending<Listing>& call) noexcept {
  Listing listing;
  listing.holders = site_.list(prefix);
  call.done(std::move(listing));
}

// ── cells ───────────────────────────────────────────────────────────────────────────────────────

void Remote::change(std::string_view name, Pending<Cell>& call, CellStep step) {
  const auto cell = std::make_shared<Cell>();
  Node& node = site_.serving_cells();
  process_.desk().send(
      node, call.deadline, 1,
      [site = &site_, &node, name = std::string(name), cell,
       step = std::move(step)](Answers& answers) {
        *cell = site->change(node, name, step);
        answers.emplace_back().said = Said::yes;
      },
      [cell, &call](std::span<Answer> answers) {
        if (answers[0].said != Said::yes) {
          *cell = {};
          cell->said = answers[0].said;
          cell->problem = answers[0].problem;
        }
        call.done(std::move(*cell));
      });
}

void Remote::add(const Add& add, Pending<Cell>& call) noexcept {
  change(add.name, call, [add](auto& state, std::int64_t now_us, std::uint64_t first_version) {
    return stores::add(add, state, now_us, first_version);
  });
}

void Remote::swap(const Swap& swap, Pending<Cell>& call) noexcept {
  change(swap.name, call,
         [swap, bytes = std::string(swap.bytes)](auto& state, std::int64_t now_us,
                                                 std::uint64_t first_version) {
           Swap lasting = swap;
           lasting.bytes = bytes;
           return stores::swap(lasting, state, now_us, first_version);
         });
}

void Remote::get(std::string_view name, Pending<Cell>& call) noexcept {
  change(name, call, [](auto& state, std::int64_t, std::uint64_t) { return stores::get(state); });
}

void Remote::guarantees(Pending<Promise>& call) noexcept { call.done({}); }

void Remote::init(Init, Pending<Answer>& call) noexcept {
  Answer answer;
  answer.said = Said::yes;
  call.done(std::move(answer));
}

}  // namespace holdfast::lab
