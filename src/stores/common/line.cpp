#include "stores/common/line.hpp"

namespace holdfast::stores {
namespace {

std::string in_words(const Shape& shape) {
  std::string words(to_string(shape.kind));
  if (shape.kind == Kind::semaphore) words += " of " + std::to_string(shape.capacity);
  return words;
}

}  // namespace

Problem misfit(const Shape& present, const Shape& asked) {
  if (present.kind == asked.kind && present.capacity == asked.capacity) return {};
  return {Errc::invalid, "kind",
          "it is in use as " + in_words(present) + ", asked for as " + in_words(asked)};
}

}  // namespace holdfast::stores
