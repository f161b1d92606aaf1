#include "stores/zookeeper/note.hpp"

#include <charconv>

namespace holdfast::stores::zookeeper {
namespace {

constexpr std::string_view number_word = "number=";
constexpr std::size_t longest_about = 4096;

}  // namespace

std::string written(const Note& note) {
  std::string data;
  if (note.granted) data += "granted ";
  if (note.revoked) data += "revoked ";
  if (note.number != 0) data += std::string(number_word) + std::to_string(note.number);
  return data + "\n" + note.about;
}

Note read_note(std::string_view data) {
  Note note;
  const auto end = data.find('\n');
  if (end == data.npos) return note;
  std::string_view words = data.substr(0, end);
  note.about = data.substr(end + 1, longest_about);
  while (!words.empty()) {
    std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    note.granted |= word == "granted";
    note.revoked |= word == "revoked";
    if (!word.starts_with(number_word)) continue;
    word.remove_prefix(number_word.size());
    std::from_chars(word.data(), word.data() + word.size(), note.number);
  }
  return note;
}

}  // namespace holdfast::stores::zookeeper
