#include "core/teeth.hpp"

namespace holdfast::core {

thread_local Switches switches;

}  // namespace holdfast::core
