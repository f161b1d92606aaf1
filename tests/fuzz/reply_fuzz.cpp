// Goal: whatever a server sends, the reader of Redis replies neither fails nor allocates memory for
// data that has not come, and its result does not depend on how the stream was cut.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "support/redis/replies.hpp"

using holdfast::support::Hearing;
using holdfast::support::told_of;

namespace {

void require(bool fact) {
  if (!fact) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Hearing whole;
  whole.hear(bytes);
  require(whole.most_room() <= (std::size_t{32} << 10) + 2 * size);

  Hearing slowly;
  for (const char& byte : bytes) slowly.hear({&byte, 1});
  require(slowly.told() == whole.told());

  const std::size_t stride = 1 + size / 64;  // every byte of a small one
  for (std::size_t cut = 0; cut < size; cut += stride)
    require(told_of({bytes.substr(0, cut), bytes.substr(cut)}) == whole.told());
  return 0;
}
