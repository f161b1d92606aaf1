#include "cli/holders.hpp"

#include <algorithm>

#include "cli/text.hpp"

namespace holdfast::cli {

std::string json_of(const Holder& holder, std::string_view change) {
  const auto count = [](const std::optional<Millis>& time) {
    return time ? std::optional(static_cast<std::int64_t>(time->count())) : std::nullopt;
  };
  JsonObject object;
  if (!change.empty()) object.text("change", change);
  object.bytes("name", holder.name).text("token", std::to_string(holder.token.value));
  object.text("state", holder.waits ? "waits" : "holds").text("who", holder.who);
  object.number_or_null("held_for_ms", count(holder.held_for))
      .number_or_null("ttl_left_ms", count(holder.ttl_left));
  object.number("weight", holder.weight).number("capacity", holder.capacity);
  return object.str();
}

std::string json_of(const std::vector<Holder>& holders) {
  std::string text;
  for (const auto& holder : holders) text += (text.empty() ? "" : ",") + json_of(holder);
  return text;
}

std::size_t shown_width(std::string_view text) noexcept {
  const auto starts_character = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80;
  };
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

}  // namespace holdfast::cli
