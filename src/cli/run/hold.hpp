// The guard's work while it holds the lease: it runs the command and stops it in time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cli/run/command.hpp"
#include "cli/run/job.hpp"
#include "holdfast/holdfast.hpp"

namespace holdfast::cli {

class Hold {
 public:
  Hold(const Job& job, int line, const Store& store, Lease lease, bool paused);
  int run();  // the exit status

 private:
  bool may_start();  // waits while the supervisor is stopped
  void look();       // checks the clock, the lease and the supervisor, and acts
  std::int64_t next_look() const noexcept;
  void wait_for_news();
  void read_line();
  void lose(const std::string& why, std::int64_t now);
  void stop(std::int64_t kill_at);
  void ask_whether_taken();
  void kill() const;
  bool over() const;
  int finish();

  const Job& job_;
  const Store store_;
  Lease lease_;
  int line_;  // -1: the supervisor is dead
  bool paused_;
  int signal_ = 0;  // the signal that ended us before the command started
  Command command_;
  Flag lost_;                                                     // raised by the lease's lost()
  const std::shared_ptr<Flag> taken_ = std::make_shared<Flag>();  // another may hold it already
  Descriptor children_;
  BootTimer timer_;
  std::int64_t until_;  // V_end − g, as last known
  bool lease_lost_ = false;
  bool end_as_lost_ = false;
  std::optional<std::int64_t> kill_at_;  // set once the command is being stopped
};

}  // namespace holdfast::cli
