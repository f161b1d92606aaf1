#include "cli/duration.hpp"

#include <charconv>
#include <cstdint>

#include "cli/failure.hpp"
#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t millis;
};
constexpr Unit units[] = {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}};
constexpr std::int64_t most_millis = INT64_MAX / 1'000'000;

}  // namespace

Millis parse_duration(std::string_view text, std::string_view what) {
  const auto refuse = [&](std::string_view why) {
    return bad_usage(std::string(what) + " '" + escaped(text, 64) + "' " + std::string(why) +
                     "; write a whole number and its unit, for example 1500ms, 30s, 5m or 2h");
  };
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument) throw refuse("is not a duration");
  const auto name = text.substr(static_cast<std::size_t>(rest - text.data()));
  if (name.empty()) throw refuse("has no unit");
  for (const auto& unit : units) {
    if (name != unit.name) continue;
    if (error != std::errc() || number > static_cast<std::uint64_t>(most_millis / unit.millis))
      throw refuse("is too long");
    return Millis(static_cast<std::int64_t>(number) * unit.millis);
  }
  throw refuse("is not a duration");
}

std::string spoken(Millis duration) {
  const auto millis = duration.count();
  if (millis < 1'000) return std::to_string(millis) + "ms";
  const auto seconds = millis / 1'000;
  const auto pair = [](std::int64_t large, const char* unit, std::int64_t small, const char* part) {
    auto text = std::to_string(large) + unit;
    if (small != 0) text += " " + std::to_string(small) + part;
    return text;
  };
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3'600) return pair(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 86'400) return pair(seconds / 3'600, "h", seconds % 3'600 / 60, "m");
  return pair(seconds / 86'400, "d", seconds % 86'400 / 3'600, "h");
}

}  // namespace holdfast::cli
