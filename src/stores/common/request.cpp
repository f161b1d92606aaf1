#include "stores/common/request.hpp"

#include <new>
#include <type_traits>
#include <utility>

namespace holdfast::stores {
namespace {

template <class Question, class Reply>
void make_room(const Question&, Reply&) {}
template <class Item>
void make_room(std::span<const Item> items, Answers& answers) {
  answers.resize(items.size());
}

void refuse_reply(Answer& reply, Said said, const Problem& problem) {
  reply = {};
  reply.said = said;
  reply.problem = problem;
}
void refuse_reply(Answers& replies, Said said, const Problem& problem) {
  for (Answer& reply : replies) refuse_reply(reply, said, problem);
}
void refuse_reply(Cell& reply, Said said, const Problem& problem) {
  reply = {};
  reply.said = said;
  reply.problem = problem;
}
void refuse_reply(Listing& reply, Said, const Problem& problem) {
  reply = {};
  reply.problem = problem;
}
void refuse_reply(Promise& reply, Said, const Problem& problem) {
  reply = {};
  reply.problem = problem;
}
void refuse_reply(Inspection& reply, Said, const Problem& problem) {
  reply = {};
  reply.problem = problem;
}

}  // namespace

Request::Request(Work started) : work_(std::move(started)), deadline_(call().deadline) {
  std::visit([](auto& each) { make_room(each.question, each.reply); }, work_);
}

const Call& Request::call() const noexcept {
  return *std::visit([](const auto& started) -> const Call* { return started.call; }, work_);
}

bool Request::writes() const noexcept {
  return !std::holds_alternative<Started<Describe, Listing>>(work_) &&
         !std::holds_alternative<Started<ListNames, Listing>>(work_) &&
         !std::holds_alternative<Started<Get, Cell>>(work_) &&
         !std::holds_alternative<Started<StateGuarantees, Promise>>(work_) &&
         !std::holds_alternative<Started<Inspect, Inspection>>(work_);
}

void Request::refuse(Said said, const Problem& problem) noexcept {
  const auto with = [&](const Problem& words) {
    std::visit([&](auto& started) { refuse_reply(started.reply, said, words); }, work_);
  };
  try {
    with(problem);
  } catch (const std::bad_alloc&) {
    with({Errc::unavailable, "no_memory", "out of memory"});  // short enough to need no memory
  }
  answered_ = true;
}

void Request::deliver() noexcept {
  std::visit(
      [](auto& started) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(started.reply)>, Answers>)
          started.call->done(std::span<Answer>(started.reply));
        else
          started.call->done(std::move(started.reply));
      },
      work_);
}

}  // namespace holdfast::stores
