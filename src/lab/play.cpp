#include "lab/play.hpp"

#include <algorithm>

#include "core/teeth.hpp"
#include "core/validity.hpp"
#include "lab/expect.hpp"
#include "lab/process.hpp"
#include "lab/shop.hpp"
#include "lab/stores/store.hpp"

namespace holdfast::lab {
namespace {

// Takes the rare branches that the plan has, each time with these odds.
struct Rarely {
  static constexpr unsigned odds = 15;
  static bool happens(void* asked, core::Rare branch) {
    auto& self = *static_cast<Rarely*>(asked);
    return (self.plan >> static_cast<unsigned>(branch) & 1) != 0 && !self.scene.calm &&
           self.chance.percent(odds);
  }
  Scene& scene;
  std::uint32_t plan;
  Chance chance;
};

// Sets the switches for the length of one story.
class Switched {
 public:
  explicit Switched(Rarely& rarely) : before_(core::switches) {
    core::switches.rare = &Rarely::happens;
    core::switches.asked = &rarely;
  }
  ~Switched() { core::switches = before_; }
  Switched(const Switched&) = delete;
  Switched& operator=(const Switched&) = delete;

 private:
  const core::Switches before_;
};

void cut(Scene& scene, const Fault& fault, bool is_cut) {
  for (std::size_t i = 0; i < scene.plan.nodes(); ++i) {
    const auto node = static_cast<std::int16_t>(i);
    if (fault.node != nobody && fault.node != node) continue;
    if (fault.there) scene.network.cut(fault.process, node, Way::there, is_cut);
    if (fault.back) scene.network.cut(fault.process, node, Way::back, is_cut);
  }
  scene.tell(is_cut ? What::cut : What::heal, fault.process, fault.node);
  if (!is_cut) scene.store->suffer(fault);
}

void strike(Scene& scene, const Fault& fault) {
  if (scene.calm) return;
  if (fault.kind == Fault::Kind::cut) {
    cut(scene, fault, true);
    return scene.world.after(fault.length, [&scene, &fault] {
      if (!scene.calm) cut(scene, fault, false);
    });
  }
  if (fault.process == nobody || fault.kind == Fault::Kind::end_session)
    return scene.store->suffer(fault);
  Process& process = scene.process(fault.process);
  switch (fault.kind) {
    case Fault::Kind::pause: process.stand_still_at(fault.where, fault.length); break;
    case Fault::Kind::crash: process.crash(fault.length); break;
    case Fault::Kind::jump_wall:
      scene.tell(What::jump, fault.process);
      process.jump_wall(Nanos(fault.amount));
      break;
    case Fault::Kind::drift:
      scene.tell(What::drift, fault.process);
      process.drift(fault.amount);
      break;
    default: break;
  }
}

void become_calm(Scene& scene) {
  scene.calm = true;
  scene.network.calm();
  scene.store->calm();
  for (const auto& process : scene.processes) process->calm();
  scene.tell(What::calm, nobody);
}

// Records the work that a process still has at the end; there should be none.
void tell_what_is_left(Scene& scene) {
  for (const auto& process : scene.processes)
    if (process->shop() && !process->shop()->idle())
      scene.tell(What::left, process->number(), nobody, "a gate that is not idle");
}

}  // namespace

Story play(const Plan& plan, Recording recording) {
  Scene scene(plan, recording.wire);
  Rarely rarely{scene, plan.rare, scene.world.chance.fork()};
  const Switched switched(rarely);
  for (const auto& process : scene.processes) process->begin();
  for (const Fault& fault : plan.faults)
    scene.world.at(fault.at, [&scene, &fault] { strike(scene, fault); });
  scene.world.run(plan.end);
  if (plan.calms) {
    become_calm(scene);
    const bool rests = scene.world.run(plan.end + std::chrono::hours(1));
    if (!rests) scene.tell(What::left, nobody, nobody, "it never comes to rest");
    tell_what_is_left(scene);
  }
  Story story;
  story.expected = expectation_of(plan);
  story.hash = scene.world.history.hash();
  story.steps = scene.world.steps();
  story.history = std::move(scene.world.history);
  return story;
}

}  // namespace holdfast::lab
