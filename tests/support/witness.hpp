// tests/support/witness.hpp: a resource for a lock to protect, which always shows two inside at
// once.
//
// It is a counter in a file, read and written without protection, and flock, which knows nothing of
// holdfast: it works between threads and between processes, and the kernel releases it when its
// holder dies.
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
