// Formats what a store reports about its holders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/store.hpp"

namespace holdfast::cli {

std::string json_of(const Holder& holder, std::string_view change = {});  // one object
std::string json_of(const std::vector<Holder>& holders);  // with commas between them

std::size_t shown_width(std::string_view text) noexcept;  // in characters

}  // namespace holdfast::cli
