// Names are bytes. This is how people, scripts and the environment see them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

// The result fits on one line and cannot harm a terminal: control characters, backslashes,
// characters that reorder or hide text, and broken UTF-8 become \xNN. Text longer than `most` bytes
// ends in "…".
std::string escaped(std::string_view bytes, std::size_t most = 4096);

// All bytes but letters, digits and -._~ become %NN; `keep` adds bytes that stay.
std::string percent_encoded(std::string_view bytes, std::string_view keep = {});
std::optional<std::string> percent_decoded(std::string_view text);

// One JSON object, written field by field. In text that is not UTF-8, U+FFFD replaces each broken
// byte; bytes() adds a field NAME_encoded, which has the exact bytes percent-encoded.
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
