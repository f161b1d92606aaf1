#include "lab/desk.hpp"

#include <utility>

#include "core/teeth.hpp"
#include "lab/process.hpp"

namespace holdfast::lab {
namespace {

using std::chrono::microseconds;

Answers all(std::size_t count, Said said, const char* reason) {
  Answer answer;
  answer.said = said;
  answer.problem = {Errc::unavailable, reason, ""};
  return Answers(count, answer);
}

}  // namespace

struct Desk::Open {
  Node& node;
  std::size_t count;
  std::uint64_t life;  // of the process that waits for the answer
  Finish finish;       // empty once the call is answered
  BootTime deadline;
};

void Desk::send(Node& node, BootTime deadline, std::size_t count, Work work, Finish finish) {
  const auto open =
      std::make_shared<Open>(Open{node, count, process_.life(), std::move(finish), deadline});
  process_.at_boot(deadline, [this, open] {
    if (open->finish) answer(*open, all(open->count, Said::unknown, "timeout"));
  });
  process_.reach(Where::before_send);
  const Nanos until_sent = chance_.between(microseconds(1), microseconds(20));
  process_.after(until_sent, [this, open, work = std::move(work)] {
    if (!open->finish) return;  // timed out while the process was paused
    scene_.network.request(process_.number(), open->node.number,
                           [this, open, work] { arrive(open, work); });
  });
}

void Desk::arrive(const std::shared_ptr<Open>& open, const Work& work) {
  Node& node = open->node;
  if (!node.alive()) return send_back(open, all(open->count, Said::no, "refused"));
  if (node.paused())  // when it resumes, callers that timed out have hung up
    return node.after(Nanos(0), [this, open, work] {
      if (open->finish) arrive(open, work);
    });
  Answers answers;
  answers.reserve(open->count);
  work(answers);
  if (!answers.empty()) send_back(open, std::move(answers));
}

void Desk::send_back(const std::shared_ptr<Open>& open, Answers answers) {
  scene_.network.reply(process_.number(), open->node.number,
                       [this, open, answers = std::move(answers)] {
                         if (!open->finish || open->life != process_.life()) return;
                         process_.reach(Where::after_reply);
                         const auto read = [this, open, answers] {
                           if (open->finish) answer(*open, answers);
                         };
                         if (core::rare(core::Rare::answer_late))
                           return process_.at_boot(open->deadline - Nanos(1), read);
                         process_.after(Nanos(0), read);
                       });
}

void Desk::answer(Open& open, Answers answers) {
  const Finish finish = std::exchange(open.finish, {});
  finish(answers);
}

}  // namespace holdfast::lab
