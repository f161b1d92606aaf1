// stores/common/request.hpp: a call that was started and waits for a thread that runs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "holdfast/backend.hpp"

namespace holdfast::stores {

// The calls that have no struct of their own in backend.hpp.
struct Describe {
  std::string_view name;
};
// Answered page by page: if there are more, the store sets `more` and gets the request again.
struct ListNames {
  std::string_view prefix;
  std::string from{};  // where the next page begins
  std::uint64_t names = 0;
  bool more = false;
};
struct Revoke {
  std::string_view name;
  bool now = false;
};
struct Get {
  std::string_view name;
};
struct StateGuarantees {};
struct CreateMissing {};
struct Inspect {};

template <class Question, class Reply, class Delivered = Reply>
struct Started {
  Question question;
  Pending<Delivered>* call;
  Reply reply{};
};

// One answer for each request; empty if there was no memory even for that.
using Answers = std::vector<Answer>;

class Request {
 public:
  using Work = std::variant<Started<Ask, Answer>,                                        //
                            Started<std::span<const Keep>, Answers, std::span<Answer>>,  //
                            Started<std::span<const Drop>, Answers, std::span<Answer>>,  //
                            Started<Revoke, Answer>,                                     //
                            Started<Describe, Listing>,                                  //
                            Started<ListNames, Listing>,                                 //
                            Started<Add, Cell>,                                          //
                            Started<Swap, Cell>,                                         //
                            Started<Get, Cell>,                                          //
                            Started<StateGuarantees, Promise>,                           //
                            Started<CreateMissing, Answer>,                              //
                            Started<Inspect, Inspection>>;

  explicit Request(Work started);

  const Call& call() const noexcept;
  BootTime deadline() const noexcept { return deadline_; }
  bool answered() const noexcept { return answered_; }
  bool writes() const noexcept;

  // serve(question, reply) fills in the reply of this request. A listing stays unanswered while it
  // has more pages.
  template <class Serve>
  void answer(Serve&& serve) {
    answered_ = true;
    const auto fill_in = [&](auto& started) {
      serve(started.question, started.reply);
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(started.question)>, ListNames>) {
        if (!std::exchange(started.question.more, false)) return;
        deadline_ = started.call->looked_at(started.question.names);
        answered_ = false;
      }
    };
    std::visit(fill_in, work_);
  }
  // Gives every part of the request this answer, with a shorter text if memory runs out.
  void refuse(Said said, const Problem& problem) noexcept;
  // Delivers the reply. Afterwards the call, and what the request points to, may be gone.
  void deliver() noexcept;

 private:
  Work work_;
  BootTime deadline_;
  bool answered_ = false;
};

}  // namespace holdfast::stores
