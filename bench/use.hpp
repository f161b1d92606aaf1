// The memory that this process uses.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace bench {

struct Use {
  double heap = 0;
  double resident = 0;

  static Use now() {
    const auto info = mallinfo2();
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return {static_cast<double>(info.uordblks + info.hblkhd),
            static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE))};
  }
  Use since(const Use& before, std::size_t many) const {
    const auto each = static_cast<double>(many);
    return {(heap - before.heap) / each, (resident - before.resident) / each};
  }
};

}  // namespace bench
