#include "support/skewed_clock.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <system_error>

namespace holdfast::support {

SkewedClock::SkewedClock() {
  const auto path = folder_.path() / "ahead";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* memory = MAP_FAILED;
  if (file >= 0 && ::ftruncate(file, sizeof *ahead_) == 0)
    memory = ::mmap(nullptr, sizeof *ahead_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  if (file >= 0) ::close(file);
  if (memory == MAP_FAILED) throw std::system_error(error, std::generic_category(), path);
  ahead_ = static_cast<volatile ClockAhead*>(memory);
}

SkewedClock::~SkewedClock() { ::munmap(const_cast<ClockAhead*>(ahead_), sizeof *ahead_); }

// All programs of a build are in one folder, and the shim is beside them.
std::vector<std::string> SkewedClock::environment() const {
  const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return {"LD_PRELOAD=" + (programs / "clock_shim.so").string(),
          "HOLDFAST_TEST_CLOCK=" + (folder_.path() / "ahead").string()};
}

void SkewedClock::set_ahead(Millis by) noexcept {
  ahead_->wall_ns = std::chrono::nanoseconds(by).count();
}

void SkewedClock::jump(Millis by) noexcept {
  ahead_->slept_ns = ahead_->slept_ns + std::chrono::nanoseconds(by).count();
}

}  // namespace holdfast::support
