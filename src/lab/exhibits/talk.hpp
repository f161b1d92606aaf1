// lab/exhibits/talk.hpp: a process sends requests to nodes and waits for their answers.
#pragma once

#include <memory>
#include <vector>

#include "lab/exhibits/stage.hpp"

namespace holdfast::lab::exhibits {

inline constexpr Nanos patience = 500ms;  // how long a process waits for an answer

struct Answer {
  bool yes = false;
  const char* words = "";    // the node's reply; "": there was none
  std::uint64_t number = 0;  // a token
};
using Work = std::function<Answer(Node&)>;  // what a node does for a request

struct Request {
  const char* command;
  Work work;
  std::uint64_t token = 0;
  Nanos wait = patience;
};

// Asks several nodes at once. Ends when all have answered, or after the request's `wait`.
class Round {
 public:
  Round(Actor& from, const std::vector<Node*>& to, Request request);
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> script);
  std::vector<Answer> await_resume() const;

 private:
  class Talk;
  std::shared_ptr<Talk> talk_;  // outlives us, because an answer may come after we stopped waiting
};

class Question : public Round {
 public:
  Question(Actor& from, Node& to, Request request) : Round(from, {&to}, std::move(request)) {}
  Answer await_resume() const { return Round::await_resume().front(); }
};

}  // namespace holdfast::lab::exhibits
