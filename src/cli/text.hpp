// Names are bytes: how they are shown to people, to scripts, and in the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

// On one line and harmless to a terminal: control characters, backslashes, characters that reorder
// or hide text, and broken UTF-8 as \xNN. Longer than `most` bytes is cut and ends in "…".
std::string escaped(std::string_view bytes, std::size_t most = 4096);

// All but letters, digits and -._~ as %NN; `keep` names more that stay.
std::string percent_encoded(std::string_view bytes, std::string_view keep = {});
std::optional<std::string> percent_decoded(std::string_view text);

// One JSON object, written field by field. Text that is not UTF-8 has U+FFFD for each broken byte;
// where the exact bytes matter, a field of the same name with _encoded has them percent-encoded.
class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& bytes(std::string_view key, std::string_view value);  // key and key_encoded
  JsonObject& number(std::string_view key, std::int64_t value);
  JsonObject& number_or_null(std::string_view key, std::optional<std::int64_t> value);
  JsonObject& flag(std::string_view key, bool value);
  JsonObject& array(std::string_view key, std::string_view elements);  // already JSON, with commas
  std::string str() const { return out_ + "}"; }

 private:
  void key(std::string_view key);
  std::string out_ = "{";
};

}  // namespace holdfast::cli
