// lab/desk.hpp: where a process starts its calls to nodes. Each call is answered exactly once: by
// the node, or with `unknown` at its deadline. Later answers are discarded.
#pragma once

#include <span>

#include "lab/scene.hpp"

namespace holdfast::lab {

using Answers = std::vector<Answer>;

// A server's machine, and its number in the history.
struct Node : Machine {
  Node(World& world, std::int16_t number_) : Machine(world), number(number_) {}
  const std::int16_t number;
  std::int64_t now_us() const noexcept { return boot().time_since_epoch().count() / 1000; }
};

class Desk {
 public:
  using Work = std::function<void(Answers& answers)>;  // done at the node, in one step
  using Finish = std::function<void(std::span<Answer> answers)>;

  Desk(Scene& scene, Process& process)
      : scene_(scene), process_(process), chance_(scene.world.chance.fork()) {}

  // `finish` gets `count` answers.
  void send(Node& node, BootTime deadline, std::size_t count, Work work, Finish finish);

 private:
  struct Open;
  void arrive(const std::shared_ptr<Open>& open, const Work& work);
  void send_back(const std::shared_ptr<Open>& open, Answers answers);
  void answer(Open& open, Answers answers);

  Scene& scene_;
  Process& process_;
  Chance chance_;
};

}  // namespace holdfast::lab
