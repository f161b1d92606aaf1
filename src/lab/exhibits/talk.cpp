#include "lab/exhibits/talk.hpp"

#include <algorithm>

namespace holdfast::lab::exhibits {

class Round::Talk : public std::enable_shared_from_this<Talk> {
 public:
  Talk(Actor& from, const std::vector<Node*>& to, Request request)
      : from_(from), stage_(from.stage), request_(std::move(request)) {
    for (Node* node : to) legs_.push_back({node});
  }

  void begin(std::coroutine_handle<> script) {
    script_ = script;
    for (std::size_t leg = 0; leg < legs_.size(); ++leg) send(leg);
  }

  std::vector<Answer> answers() const {
    std::vector<Answer> all;
    for (const Leg& leg : legs_) all.push_back(*leg.answer);
    return all;
  }

 private:
  struct Leg {
    Node* node;
    std::optional<Answer> answer{};
  };
  void send(std::size_t leg);
  void arrive(std::size_t leg, Event event);
  void reply(std::size_t leg, Event event);
  void settle(std::size_t leg, const Answer& answer);

  Actor& from_;
  Stage& stage_;
  Request request_;
  std::vector<Leg> legs_;
  std::coroutine_handle<> script_;
};

void Round::Talk::send(std::size_t leg) {
  Node& node = *legs_[leg].node;
  const Event event{.what = What::sent,
                    .process = from_.number,
                    .node = node.number,
                    .op = ++stage_.calls,
                    .token = request_.token,
                    .note = request_.command};
  stage_.tell(event);
  const auto self = shared_from_this();
  stage_.world.after(from_.takes(node), [self, leg, event] { self->arrive(leg, event); });
  from_.machine.after(request_.wait, [self, leg] { self->settle(leg, {}); });
}

void Round::Talk::arrive(std::size_t leg, Event event) {
  Node& node = *legs_[leg].node;
  const bool lost = stage_.is_cut(from_, node) || !node.machine.alive();
  event.what = lost ? What::vanished : What::arrived;
  stage_.tell(event);
  if (lost) return;
  node.machine.at(stage_.world.now(),
                  [self = shared_from_this(), leg, event] { self->reply(leg, event); });
}

void Round::Talk::reply(std::size_t leg, Event event) {
  Node& node = *legs_[leg].node;
  const Answer answer = request_.work(node);
  event.what = What::sent;
  event.flag = true;
  event.token = answer.number;
  event.note = answer.words;
  stage_.tell(event);
  event.what = What::arrived;
  const auto self = shared_from_this();
  stage_.world.after(stage_.way_of(from_, node), [self, leg, event, answer] {
    self->stage_.tell(event);
    self->from_.machine.at(self->stage_.world.now(),
                           [self, leg, answer] { self->settle(leg, answer); });
  });
}

void Round::Talk::settle(std::size_t leg, const Answer& answer) {
  if (legs_[leg].answer) return;
  legs_[leg].answer = answer;
  if (std::ranges::all_of(legs_, [](const Leg& one) { return one.answer.has_value(); }))
    script_.resume();
}

Round::Round(Actor& from, const std::vector<Node*>& to, Request request)
    : talk_(std::make_shared<Talk>(from, to, std::move(request))) {}

void Round::await_suspend(std::coroutine_handle<> script) { talk_->begin(script); }

std::vector<Answer> Round::await_resume() const { return talk_->answers(); }

}  // namespace holdfast::lab::exhibits
