#include "cli/run/progress.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cli/duration.hpp"
#include "cli/output.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

std::string describe(const Store& store, const std::string& name) {
  std::string text = "waiting for '" + name + "'";
  const auto found = store.holders(name);
  if (!found) return text + ": the store does not answer";
  std::size_t before = 0;
  bool held = false;
  for (const auto& holder : *found) {
    if (holder.waits) {
      ++before;
    } else if (!held) {
      held = true;
      text += ", held by " + holder.who;
      if (holder.held_for) text += " for " + spoken(*holder.held_for);
    }
  }
  if (before > 1) text += "; " + std::to_string(before) + " in line";
  return text;
}

}  // namespace

struct Progress::State {
  State(const Store& at, const std::string& of) : store(at), name(of) {}
  Store store;
  std::string name;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  bool shown = false;
};

Progress::Progress(const Store& store, const std::string& name) {
  if (!is_terminal(STDERR_FILENO)) return;
  state_ = std::make_shared<State>(store, name);
  std::thread([state = state_] { show(*state); }).detach();
}

void Progress::show(State& state) {
  std::unique_lock lock(state.mutex);
  // A short wait is not worth a line.
  for (auto pause = 300ms; !state.changed.wait_for(lock, pause, [&] { return state.over; });
       pause = 1000ms) {
    lock.unlock();
    const auto text = describe(state.store, state.name);
    lock.lock();
    if (state.over) return;
    state.shown = true;
    show_status(text);
  }
}

Progress::~Progress() {
  if (!state_) return;
  const std::lock_guard lock(state_->mutex);
  state_->over = true;
  state_->changed.notify_one();
  if (state_->shown) show_status({});
}

}  // namespace holdfast::cli
