#include "stores/zookeeper/layout.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "core/text.hpp"
#include "core/validity.hpp"

namespace holdfast::stores::zookeeper {
namespace {

constexpr std::string_view delay_word = "-delay-";
constexpr char kinds[] = {'m', 'r', 's'};  // in the order of Kind
constexpr std::size_t hex_size = 2 * sizeof(ClaimId);

// Removes from `rest` the number that it begins with.
template <class Number>
bool take(std::string_view& rest, Number& number) {
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (read.ec != std::errc()) return false;
  rest.remove_prefix(static_cast<std::size_t>(read.ptr - rest.data()));
  return true;
}
bool take(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

// Sequences are signed 32-bit numbers that wrap around. Those of live claims are close together, so
// their distances from any one of them give the order.
std::int32_t distance(const Child& from, const Child& to) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(to.sequence) -
                                   static_cast<std::uint32_t>(from.sequence));
}

class OwnLayout final : public Layout {
 public:
  explicit OwnLayout(const Paths& paths) : paths_(paths) {}

  std::optional<std::string> lock(std::string_view name) const override {
    return paths_.lock(name);
  }
  bool contained() const override { return true; }

  std::string stem(const ClaimId& claim, const Shape& shape) const override {
    return core::in_hex(claim) + "-" + kinds[static_cast<std::size_t>(shape.kind)] +
           std::to_string(shape.capacity) + "-" + std::to_string(shape.weight) + "-";
  }

  std::optional<Child> read(std::string_view name) const override {
    Child child;
    Shape& shape = child.shape;
    std::string_view rest = name;
    const auto claim = take_claim(rest);
    if (!claim || !take(rest, '-') || rest.empty()) return std::nullopt;
    const auto kind = std::string_view(kinds, sizeof kinds).find(rest[0]);
    if (kind == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(1);
    child.claim = *claim;
    shape.kind = static_cast<Kind>(kind);
    if (!take(rest, shape.capacity) || !take(rest, '-') || !take(rest, shape.weight) ||
        !take(rest, '-') || !take(rest, child.sequence))
      return std::nullopt;
    // Each name has only one spelling, so that a foreign node cannot pass for a claim.
    child.name = reshaped(child, shape);
    if (child.name != name || shape.weight == 0 || shape.weight > shape.capacity)
      return std::nullopt;
    return child;
  }

  void sort(std::vector<Child>& claims) const override {
    if (claims.empty()) return;
    const Child any = claims.front();
    std::ranges::sort(claims, [&](const Child& a, const Child& b) {
      const auto at = distance(any, a), other = distance(any, b);
      return at != other ? at < other : a.name < b.name;
    });
  }

  std::string reshaped(const Child& child, const Shape& shape) const override {
    return with_sequence(stem(child.claim, shape), child.sequence);
  }

  std::string marker(const ClaimId& claim, Millis delay) const override {
    return core::in_hex(claim) + std::string(delay_word) + std::to_string(delay.count());
  }

  std::optional<Marker> read_marker(std::string_view name) const override {
    std::string_view rest = name;
    const auto claim = take_claim(rest);
    if (!claim || !rest.starts_with(delay_word)) return std::nullopt;
    rest.remove_prefix(delay_word.size());
    std::int64_t delay = 0;
    if (!take(rest, delay) || marker(*claim, Millis(delay)) != name) return std::nullopt;
    return Marker{std::string(name), *claim, Millis(delay)};
  }

  Token token(std::int64_t number) const override {
    return {static_cast<std::uint64_t>(number) * core::turns};
  }
  std::string written(const Note& note) const override { return zookeeper::written(note); }
  Note read_note(std::string_view data) const override { return zookeeper::read_note(data); }

 private:
  const Paths& paths_;
};

}  // namespace

std::unique_ptr<const Layout> Layout::of(const Options& options, const Paths& paths) {
  switch (options.dialect) {
    case Dialect::curator: return curator_layout(options.chroot);
    case Dialect::kazoo: return kazoo_layout(options.chroot);
    case Dialect::own: break;
  }
  return std::make_unique<OwnLayout>(paths);
}

Holder describe(const Layout& layout, const std::string& name, const Child& child,
                std::int64_t czxid, std::string_view data) {
  const Note note = layout.read_note(data);
  Holder holder;
  holder.name = name;
  holder.who = note.about;
  holder.token = layout.token(note.number != 0 ? note.number : czxid);
  holder.weight = child.shape.weight;
  holder.capacity = child.shape.capacity;
  return holder;
}

std::optional<ClaimId> take_claim(std::string_view& rest) {
  ClaimId claim;
  if (!core::read_hex(rest.substr(0, hex_size), claim)) return std::nullopt;
  rest.remove_prefix(hex_size);
  return claim;
}

std::string with_sequence(std::string stem, std::int32_t sequence) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%010d", sequence);
  return stem += digits;
}

}  // namespace holdfast::stores::zookeeper
