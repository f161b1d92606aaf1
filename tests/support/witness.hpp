// tests/support/witness.hpp: what a lock protects, made so that two inside at once cannot stay
// unseen.
//
// A counter in a file that is read and written without protection, and flock, which knows nothing
// of holdfast: it works between threads and between processes, and the kernel drops it with its
// holder.
#pragma once

#include <filesystem>

namespace holdfast::support {

class Witness {
 public:
  explicit Witness(const std::filesystem::path& folder)
      : counter_(folder / "counter"), door_(folder / "door") {}

  bool visit() const;  // false: somebody else was inside
  long visits() const;

 private:
  void write(long count) const;

  std::filesystem::path counter_;
  std::filesystem::path door_;
};

}  // namespace holdfast::support
