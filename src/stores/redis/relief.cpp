// Hedging of urgent commands. A network may lose a renewal again and again, and TCP waits longer
// each time. So the link sends a copy on a spare connection, then another on the next one, each
// after an eighth of the time that is left. The first answer counts. While answers come, nothing is
// late: a connection keeps their order, so the missing one is on its way.
#include <poll.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "stores/redis/link.hpp"
#include "stores/redis/request.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr Millis spare_for{10'000};  // after its last use
constexpr Millis first_try{100};     // to connect; TCP itself would retry after a second
constexpr int first_tries = 4;       // until the time to connect and the rest double

struct Race {
  TaskPtr task;  // null: answered
  int runners = 0;
  bool doubtful = false;  // a copy may have been executed, but its answer is lost
};

class Runner final : public Task {
 public:
  explicit Runner(std::shared_ptr<Race> race) : race_(std::move(race)) { ++race_->runners; }

  void start(const Task& task) noexcept {
    deadline = task.deadline;
    slot = task.slot;
    bound = task.bound;
    unattended = task.unattended;
    urgent = repeated = true;
    patient = true;  // waits if the spare link may not dial yet
  }
  void write(std::string& out, const Link& link) override {
    if (!race_->task) {  // answered already: any command with a reply will do
      Request(out, 1) << "PING";
      return;
    }
    race_->task->by_text = by_text;
    race_->task->write(out, link);
  }
  void read(const Reply& reply) override {
    if (!race_->task) return;
    race_->task->read(reply);
    won_ = std::move(race_->task);
  }
  // A refusal counts only from the last runner.
  void refuse(Said said, const Problem& problem) noexcept override {
    if (!race_->task) return;
    race_->doubtful = race_->doubtful || said == Said::unknown;
    if (--race_->runners > 0) return;
    race_->task->refuse(race_->doubtful ? Said::unknown : said, problem);
    won_ = std::move(race_->task);
  }
  void refused(const Problem& problem) noexcept override {
    if (!race_->task) return;
    if (race_->runners > 1 || race_->doubtful) return refuse(Said::no, problem);
    race_->task->refused(problem);
    won_ = std::move(race_->task);
  }
  TaskPtr another() override {
    if (!race_->task) return nullptr;
    auto other = std::make_unique<Runner>(race_);
    other->start(*this);
    return other;
  }
  void deliver(TaskPtr) noexcept override {
    if (!won_) return;
    Task& won = *won_;
    won.deliver(std::move(won_));
  }

 private:
  const std::shared_ptr<Race> race_;
  TaskPtr won_;
};

// Replaces the task by a runner, and returns a second one.
TaskPtr split(TaskPtr& task) {
  const auto race = std::make_shared<Race>();
  auto one = std::make_unique<Runner>(race), other = std::make_unique<Runner>(race);
  for (Runner* runner : {one.get(), other.get()}) runner->start(*task);
  one->via = task->via;
  one->redirections = task->redirections;
  one->by_text = task->by_text;
  one->asking = task->asking;
  one->patient = task->patient;
  task->repeated = true;
  race->task = std::move(task);
  task = std::move(one);
  return other;
}

}  // namespace

// An eighth of its time is usually more than one round trip.
void Link::watch(Task& task, BootTime now) noexcept {
  if (!task.urgent || spares_ == 0) return;
  task.late_after = (task.deadline - now) / 8;
  task.late_at = now + task.late_after;
  late_at_ = std::min(late_at_, task.late_at);
}

// Keeps a spare link for a while, because the network may stay bad.
void Link::prepare(BootTime now) {
  wanted_until_ = now + spare_for;
  open(now);
}

// After what can be written was written: what never left is not late.
void Link::relieve_late(BootTime now) noexcept {
  if (now < late_at_) return;
  guarded([&] { relieve(now, has_unread() ? now : heard_at_); });
}

// An answer that nobody has looked at yet, for our own threads were busy.
bool Link::has_unread() const noexcept {
  pollfd readable{connected() ? socket_.get() : -1, POLLIN, 0};
  return ::poll(&readable, 1, 0) > 0;
}

void Link::relieve(BootTime late_by, BootTime heard_at) {
  late_at_ = BootTime::max();
  for (auto* tasks : {&waiting_, &sent_}) {
    for (TaskPtr& task : *tasks) {
      if (!task || task->late_at == BootTime::max()) continue;
      const BootTime late_at = std::max(task->late_at, heard_at + task->late_after);
      if (late_at <= late_by)
        hand_on(task);
      else
        late_at_ = std::min(late_at_, late_at);
    }
  }
}

// Closes a link that was silent for too long, but hedges its urgent tasks first.
void Link::give_up(const Problem& why) {
  relieve(BootTime::max(), heard_at_);
  close(why);
}

void Link::hand_on(TaskPtr& task) {
  task->late_at = BootTime::max();
  Link& next = spare();
  TaskPtr copy = task->repeated ? task->another() : split(task);
  if (!copy) return;
  const BootTime now = BootClock::now();
  try {
    listener_.submit(next, std::move(copy), now);
  } catch (const std::bad_alloc&) {
    if (copy) copy->refuse(Said::no, {});  // not the last runner, so this answers nothing
  }
  if (next.spares_ > 0) next.spare().prepare(now);
}

Link& Link::spare() {
  if (!relief_) {
    auto made = std::make_unique<Link>(place_, Use::spare, options_, listener_);
    made->spares_ = spares_ - 1;
    listener_.added(*made);
    relief_ = std::move(made);
  }
  return *relief_;
}

int Link::short_failures() const noexcept { return failures_ / first_tries; }

Millis Link::short_try(Millis most) const noexcept {
  return std::min(most, first_try * (1 << std::min(short_failures(), 4)));
}

}  // namespace holdfast::stores::redis
