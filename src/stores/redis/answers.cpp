// Turns the replies of our scripts into answers; wording.hpp declares these functions.
#include <charconv>
#include <cstring>
#include <limits>

#include "core/validity.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/trouble.hpp"
#include "stores/redis/wording.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr std::int64_t most_exact = std::int64_t{1} << 53;  // Lua rounds larger numbers

// Reads the items of a reply in order. One unexpected item spoils the whole reply.
class Items {
 public:
  explicit Items(const Reply& reply) : items_(reply.items) {
    good_ = reply.type == Reply::Type::array;
  }

  std::int64_t integer(std::int64_t least = 0, std::int64_t most = most_exact) {
    const Reply& item = next();
    if (item.type != Reply::Type::integer || item.integer < least || item.integer > most)
      good_ = false;
    return good_ ? item.integer : least;
  }
  std::uint32_t count() {
    return static_cast<std::uint32_t>(integer(0, std::numeric_limits<std::uint32_t>::max()));
  }
  Millis millis() { return Millis(integer()); }
  std::string_view text() {
    const Reply& item = next();
    if (item.type != Reply::Type::bulk) good_ = false;
    return good_ ? item.text : std::string_view();
  }
  // The whole text must be one decimal number.
  template <class Number>
  Number decimal() {
    const std::string_view digits = text();
    Number number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size()) good_ = false;
    return number;
  }
  const Reply& next() {
    static constexpr Reply nothing{};
    if (at_ < items_.size()) return items_[at_++];
    good_ = false;
    return nothing;
  }

  Reply::Type peek() const noexcept { return more() ? items_[at_].type : Reply::Type::nil; }
  bool more() const noexcept { return at_ < items_.size(); }
  void spoil() noexcept { good_ = false; }
  bool good() const noexcept { return good_ && !more(); }  // all was read, and all as expected

 private:
  std::span<const Reply> items_;
  std::size_t at_ = 0;
  bool good_ = true;
};

Answer garbled() {
  Answer answer;
  answer.said = Said::unknown;
  answer.problem = protocol_problem();
  return answer;
}

bool read_holder(const Reply& reply, std::string_view name, Holder& holder) {
  Items items(reply);
  holder.name = name;
  holder.who = items.text();
  holder.token = Token{static_cast<std::uint64_t>(items.integer()) * core::turns};
  if (const std::int64_t left = items.integer(-1); left >= 0) holder.ttl_left = Millis(left);
  if (const std::int64_t since = items.integer(-1); since >= 0) holder.held_for = Millis(since);
  holder.weight = items.count();
  holder.capacity = items.count();
  holder.waits = items.integer(0, 1) == 1;
  return items.good();
}

void read_holder(Items& items, std::string_view name, Answer& answer) {
  if (!read_holder(items.next(), name, answer.holder.emplace())) items.spoil();
}

std::string shape_of(Items& items) {
  const auto kind = static_cast<Kind>(items.integer(0, 2));
  const std::uint32_t capacity = items.count();
  std::string shape(to_string(kind));
  if (kind == Kind::semaphore) shape += " of " + std::to_string(capacity);
  return shape;
}

struct Why {
  std::string_view word;
  Said said;
  Errc errc;
  std::string_view text;
  std::string_view reason{};  // if it differs from the word
};
constexpr Why whys[] = {
    {"held", Said::no, Errc::busy, "another holds it"},
    {"clock_fault", Said::no, Errc::busy,
     "its lease has more time left than it was given: the server's clock was set back; "
     "`holdfast break --force` frees it"},
    {"lock_delay", Said::no, Errc::busy, "its holder died, and its lock_delay is not over"},
    {"weight", Said::no, Errc::invalid, "the weight must be at least 1 and at most what there is"},
    {"kind", Said::no, Errc::invalid, ""},
    {"quarantine", Said::no, Errc::unavailable, ""},
    {"foreign", Said::no, Errc::busy,
     "the key of this name is something else than a lock of ours; it was left alone"},
    {"layout", Said::no, Errc::busy,
     "the key of this name has the layout of a newer version of holdfast; it was left alone: use "
     "that version",
     "foreign"},
    {"silenced", Said::no, Errc::denied,
     "it is free, but the user may not tell the first in line: it lacks the right to PUBLISH",
     "permission"},
    {"withdrawn", Said::gone, Errc::lost, "this claim was withdrawn before"},
    {"revoked", Said::gone, Errc::lost, "it was revoked"},
    {"not_held", Said::gone, Errc::lost, "it is not held by this claim"},
    {"nobody", Said::gone, Errc::lost, "nobody holds it", "not_held"},
};

// Reads why an answer is no or gone, and the items that belong to that word; returns the word.
std::string_view read_why(Items& items, std::string_view name, Answer& answer) {
  const std::string_view word = items.text();
  for (const Why& why : whys) {
    if (why.word != word) continue;
    answer.said = why.said;
    answer.problem = {why.errc, std::string(why.reason.empty() ? word : why.reason),
                      std::string(why.text)};
    if (word == "held" || word == "clock_fault") read_holder(items, name, answer);
    if (word == "held" && !answer.holder->ttl_left)
      answer.problem = {Errc::busy, "no_expiry", "it has no expiry: somebody must delete it"};
    if (word == "kind") {
      answer.problem.text = "it is in use as " + shape_of(items);
      answer.problem.text += ", asked for as " + shape_of(items);
    }
    if (word == "quarantine")
      answer.problem.text = "the server may have forgotten locks that are still held; it grants " +
                            std::string("none for another ") +
                            std::to_string((items.integer() + 999) / 1000) + " s";
    return word;
  }
  items.spoil();
  return {};
}

// The same for a claim that was granted. If the key is foreign, the claim is gone; if the key has a
// newer layout, the claim may still be there.
void read_loss(Items& items, Answer& answer) {
  if (read_why(items, {}, answer) != "foreign") return;
  answer.said = Said::gone;
  answer.problem.errc = Errc::lost;
}

// Five numbers as ask.lua packs them: delay_until, kept_until, number, since, expires.
Answer read_grant(std::string_view bytes) {
  if (bytes.size() != 40) return garbled();
  const auto number_at = [&](std::size_t at) {
    std::uint64_t number = 0;
    for (const char c : bytes.substr(at, 8)) number = number << 8 | static_cast<unsigned char>(c);
    return static_cast<std::int64_t>(number);
  };
  const std::int64_t number = number_at(16);
  const std::int64_t now_us = number_at(24);
  const std::int64_t expires_us = number_at(32);
  if (number < 0 || number > most_exact || now_us < 0 || expires_us < now_us ||
      expires_us > most_exact)
    return garbled();
  Answer answer;
  answer.number = static_cast<std::uint64_t>(number);
  answer.ttl = Millis((expires_us - now_us) / 1000);
  answer.store_us = now_us;
  return answer;
}

Answer read_answer(const Reply& reply, std::string_view name, bool is_ask) {
  Answer answer;
  Items items(reply);
  const auto said = static_cast<Said>(items.integer(0, 3));
  answer.store_us = items.integer();
  answer.said = said;
  if (said == Said::yes && is_ask) {
    answer.number = static_cast<std::uint64_t>(items.integer());
    answer.ttl = items.millis();
  } else if (said == Said::queued && is_ask) {
    answer.ttl = items.millis();
    if (items.peek() == Reply::Type::bulk) {
      read_why(items, name, answer);
      answer.said = said;
    } else if (items.more()) {
      read_holder(items, name, answer);
    }
  } else if (said != Said::yes) {
    read_why(items, name, answer);
    if (answer.said != said) items.spoil();
  }
  return items.good() ? answer : garbled();
}

// The answers of a batch: the server's time, then for each answer what `read` takes.
template <class Read>
void read_batch(Items& items, std::span<Answer> answers, Read&& read) {
  const std::int64_t now_us = items.integer();
  for (Answer& answer : answers) {
    answer = {};
    answer.store_us = now_us;
    read(answer);
  }
}

void end_batch(const Items& items, std::span<Answer> answers) {
  if (items.good()) return;
  for (Answer& answer : answers) answer = garbled();
}

bool take(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data() + text.size() || *end != ' ' || number < 0)
    return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

}  // namespace

Answer read_ask(const Reply& reply, std::string_view name) {
  return reply.type == Reply::Type::bulk ? read_grant(reply.text) : read_answer(reply, name, true);
}
Answer read_revoke(const Reply& reply) { return read_answer(reply, {}, false); }

void read_renew(const Reply& reply, std::span<Answer> answers) {
  Items items(reply);
  read_batch(items, answers, [&](Answer& answer) {
    answer.number = static_cast<std::uint64_t>(items.integer());
    if (items.peek() == Reply::Type::integer) {
      answer.ttl = items.millis();
    } else {
      read_loss(items, answer);
    }
  });
  end_batch(items, answers);
}

bool read_release(const Reply& reply, std::span<Answer> answers) {
  if (reply.type == Reply::Type::integer && answers.size() == 1) {
    answers[0] = {};
    answers[0].store_us = reply.integer;
    return true;
  }
  Items items(reply);
  read_batch(items, answers, [&](Answer& answer) {
    if (items.peek() != Reply::Type::integer) return read_loss(items, answer);
    if (items.integer(0, 3) == 0) return;
    answer.said = Said::gone;
    answer.problem = {Errc::lost, "not_held", "it is not held by this claim"};
  });
  const bool silenced = items.more();
  if (silenced && items.text() != "silenced") items.spoil();
  end_batch(items, answers);
  return !silenced;
}

bool read_describe(const Reply& reply, std::string_view name, std::vector<Holder>& holders) {
  Items items(reply);
  items.integer();
  while (items.more())
    if (!read_holder(items.next(), name, holders.emplace_back())) items.spoil();
  return items.good();
}

bool read_mark(const Reply& reply, Mark& mark) {
  Items items(reply);
  mark.store_us = items.integer();
  mark.ours = items.integer(0, 1) == 1;
  mark.quarantine = items.millis();
  return items.good();
}

Cell read_cell(const Reply& reply) {
  Cell cell;
  Items items(reply);
  cell.said = static_cast<Said>(items.integer(0, 3));
  cell.number = items.decimal<std::int64_t>();
  cell.version = items.decimal<std::uint64_t>();
  cell.bytes = items.text();
  if (cell.said == Said::no) {
    const std::string_view why = items.text();
    if (why == "bounds") {
      cell.problem = {Errc::busy, "bounds", "the result would be out of bounds"};
    } else if (why == "changed") {
      cell.problem = {Errc::busy, "changed", "another version is there"};
    } else if (why == "foreign") {
      cell.problem = {Errc::busy, "foreign",
                      "the key of this name is something else than a cell; it was left alone"};
    } else {
      items.spoil();
    }
  } else if (cell.said != Said::yes) {
    items.spoil();
  }
  if (items.good()) return cell;
  cell = {};
  cell.said = Said::unknown;
  cell.problem = protocol_problem();
  return cell;
}

bool read_message(std::string_view payload, Message& message) {
  if (payload.size() < 1 + message.claim.size()) return false;
  const char what = payload.front();
  if (what != 'g' && what != 'x') return false;
  message.what = what == 'g' ? Message::What::granted : Message::What::gone;
  std::memcpy(message.claim.data(), payload.data() + 1, message.claim.size());
  payload.remove_prefix(1 + message.claim.size());
  message.answer = {};
  if (what == 'g') {
    std::int64_t number = 0;
    std::int64_t ttl = 0;
    if (!take(payload, number) || !take(payload, ttl) || !take(payload, message.answer.store_us) ||
        number > most_exact)
      return false;
    message.answer.number = static_cast<std::uint64_t>(number);
    message.answer.ttl = Millis(ttl);
  }
  return name_of(payload, message.name);
}

}  // namespace holdfast::stores::redis
