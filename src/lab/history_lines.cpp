// Histories as JSON lines, which real runs write and any other tool can read.
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "lab/history.hpp"

namespace holdfast::lab {
namespace {

// Calls and returns are named as in Jepsen; everything else is `info` under its own word.
struct Phase {
  What what;
  std::string_view op, phase;
};
constexpr std::array phases{
    Phase{What::ask, "acquire", "invoke"},   Phase{What::granted, "acquire", "ok"},
    Phase{What::refused, "acquire", "fail"}, Phase{What::release, "release", "invoke"},
    Phase{What::released, "release", "ok"},  Phase{What::write, "write", "invoke"},
    Phase{What::accepted, "write", "ok"},    Phase{What::rejected, "write", "fail"},
};

Phase phase_of(What what) {
  for (const Phase& phase : phases)
    if (phase.what == what) return phase;
  return {what, to_string(what), "info"};
}

std::optional<What> what_of(std::string_view op, std::string_view phase) {
  for (int i = 0; i <= static_cast<int>(What::note); ++i) {
    const Phase known = phase_of(static_cast<What>(i));
    if (known.op == op && known.phase == phase) return known.what;
  }
  return std::nullopt;
}

void put(std::string& out, std::string_view key, std::string_view value, bool quoted) {
  out.append(out.back() == '{' ? "\"" : ",\"").append(key).append("\":");
  if (!quoted) {
    out += value;
    return;
  }
  out += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  out += '"';
}
void put(std::string& out, std::string_view key, std::int64_t value) {
  put(out, key, std::to_string(value), false);
}
// Not every JSON reader has 64 bits for a number.
void put_wide(std::string& out, std::string_view key, std::uint64_t value) {
  if (value != 0) put(out, key, std::to_string(value), true);
}

// One flat object: names and plain values, as text.
class Object {
 public:
  explicit Object(std::string_view line) : rest_(line) {}

  // Returns what is wrong; empty if nothing is.
  std::string read() {
    if (!take('{')) return "an object in { } is expected";
    if (take('}')) return end();
    do {
      const std::optional<std::string> key = text();
      if (!key || !take(':')) return "a name in quotes and a colon are expected";
      const std::optional<std::string> value = peek('"') ? text() : plain();
      if (!value) return "\"" + *key + "\" needs a plain value";
      fields_[*key] = *value;
    } while (take(','));
    return take('}') ? end() : "a comma or } is expected";
  }

  const std::string* find(std::string_view key) const {
    const auto field = fields_.find(key);
    return field == fields_.end() ? nullptr : &field->second;
  }

 private:
  void skip() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  bool peek(char c) {
    skip();
    return !rest_.empty() && rest_.front() == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<std::string> text() {
    if (!take('"')) return std::nullopt;
    std::string value;
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\') rest_.remove_prefix(1);
      if (rest_.empty()) return std::nullopt;
      value += rest_.front();
      rest_.remove_prefix(1);
    }
    if (!take('"')) return std::nullopt;
    return value;
  }
  std::optional<std::string> plain() {
    skip();
    const std::size_t length = std::min(rest_.find_first_of(",} \t{[\""), rest_.size());
    if (length == 0) return std::nullopt;
    std::string value(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return value;
  }
  std::string end() {
    skip();
    return rest_.empty() ? "" : "something follows the object";
  }

  std::string_view rest_;
  std::map<std::string, std::string, std::less<>> fields_;
};

class Reader {
 public:
  explicit Reader(History& history) : history_(history) {}

  std::string read(std::string_view line) {
    Object object(line);
    if (std::string problem = object.read(); !problem.empty()) return problem;
    const std::string* op = object.find("op");
    const std::string* phase = object.find("phase");
    if (!op || !phase || !object.find("boot_ns")) return "boot_ns, op and phase are needed";
    const std::optional<What> what = what_of(*op, *phase);
    if (!what) return "there is no op \"" + *op + "\" in phase \"" + *phase + "\"";
    Event event{.what = *what};
    if (std::string problem = fill(object, event); !problem.empty()) return problem;
    if (event.at < last_) return "it is earlier than the line before it";
    last_ = event.at;
    if (const std::string* note = object.find("note")) event.note = history_.keep(*note);
    if (const std::string* flag = object.find("flag")) event.flag = *flag == "true";
    history_.add(event);
    return {};
  }

 private:
  template <class Number>
  static bool number(const Object& object, std::string_view key, Number& value,
                     std::string& problem) {
    const std::string* text = object.find(key);
    if (!text) return true;
    const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error == std::errc() && stop == text->data() + text->size()) return true;
    problem = "\"" + std::string(key) + "\" is not a number that fits: " + *text;
    return false;
  }

  std::string fill(const Object& object, Event& event) {
    std::string problem;
    const bool filled = number(object, "boot_ns", event.at, problem) &&
                        number(object, "proc", event.process, problem) &&
                        number(object, "node", event.node, problem) &&
                        number(object, "weight", event.weight, problem) &&
                        number(object, "capacity", event.capacity, problem) &&
                        number(object, "id", event.op, problem) &&
                        number(object, "claim", event.claim, problem) &&
                        number(object, "token", event.token, problem) &&
                        number(object, "v_end", event.until, problem) &&
                        number(object, "owner", event.owner, problem);
    if (!filled) return problem;
    if (const std::string* name = object.find("name")) event.name = number_of(*name);
    return {};
  }

  // A real run's names can be any text; they are numbered in the order of appearance.
  std::uint16_t number_of(const std::string& name) {
    return names_.try_emplace(name, static_cast<std::uint16_t>(names_.size())).first->second;
  }

  History& history_;
  std::map<std::string, std::uint16_t> names_;
  std::int64_t last_ = 0;
};

}  // namespace

std::string History::json_lines() const {
  std::string out;
  for (const Event& event : events_) {
    const Phase phase = phase_of(event.what);
    std::string line = "{";
    put(line, "boot_ns", event.at);
    if (event.process != nobody) put(line, "proc", event.process);
    if (event.node != nobody) put(line, "node", event.node);
    put(line, "op", phase.op, true);
    put(line, "phase", phase.phase, true);
    put_wide(line, "id", event.op);
    put(line, "name", std::to_string(event.name), true);
    if (event.weight != 1) put(line, "weight", event.weight);
    if (event.capacity != 1) put(line, "capacity", event.capacity);
    put_wide(line, "claim", event.claim);
    put_wide(line, "token", event.token);
    if (event.until != 0) put(line, "v_end", event.until);
    put_wide(line, "owner", event.owner);
    if (event.flag) put(line, "flag", "true", false);
    if (*event.note != '\0') put(line, "note", event.note, true);
    out.append(line).append("}\n");
  }
  return out;
}

bool read_lines(std::string_view lines, History& history, std::string& problem) {
  Reader reader(history);
  for (std::size_t number = 1; !lines.empty(); ++number) {
    const std::size_t length = lines.find('\n');
    const std::string_view line = lines.substr(0, length);
    lines.remove_prefix(length == std::string_view::npos ? lines.size() : length + 1);
    if (line.empty()) continue;
    if (const std::string wrong = reader.read(line); !wrong.empty()) {
      problem = "line " + std::to_string(number) + ": " + wrong;
      return false;
    }
  }
  return true;
}

}  // namespace holdfast::lab
