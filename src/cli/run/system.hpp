// Small wrappers around kernel objects: descriptors, the boot clock and its timer.
#pragma once

#include <csignal>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::cli {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const noexcept { return number_; }
  void close() noexcept;

 private:
  int number_ = -1;
};

// CLOCK_BOOTTIME in nanoseconds, which goes on while the machine sleeps.
std::int64_t boot_now() noexcept;

class BootTimer {
 public:
  BootTimer();
  int descriptor() const noexcept { return timer_.get(); }
  void arm(std::int64_t at) noexcept;  // readable from then on, until armed again

 private:
  Descriptor timer_;
};

// Readable from the first raise() on.
class Flag {
 public:
  Flag();
  int descriptor() const noexcept { return event_.get(); }
  void raise() const noexcept;

 private:
  Descriptor event_;
};

bool ends_a_process(int signal) noexcept;  // by its default action
sigset_t only(int signal) noexcept;
Descriptor signals_of(const sigset_t& set);
int next_signal(int descriptor) noexcept;  // 0: none is pending

// The descriptors that our parent passed on, in ascending order, without the standard ones. Call it
// before anything is opened.
std::vector<int> inherited_descriptors();
// Closes all descriptors but the standard ones and those in `kept`, which must ascend; `how` holds
// flags for close_range. Allocates nothing.
void close_all_but(std::span<const int> kept, int how) noexcept;

[[noreturn]] void refused(const char* what);  // throws Failure: errno says why

}  // namespace holdfast::cli
