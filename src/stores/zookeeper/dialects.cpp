// The layouts of other libraries' locks: Curator's InterProcessMutex and InterProcessReadWriteLock,
// and kazoo's Lock. Both sort by text, even where a sequence has wrapped, so we must do the same.
#include <algorithm>
#include <utility>

#include "core/text.hpp"
#include "stores/zookeeper/layout.hpp"

namespace holdfast::stores::zookeeper {
namespace {

constexpr std::uint32_t rw_capacity = 1U << 20;  // what the core asks for; Curator has no limit

class ForeignLayout : public Layout {
 public:
  explicit ForeignLayout(std::string chroot) : chroot_(std::move(chroot)) {}

  std::optional<std::string> lock(std::string_view name) const override {
    std::string path = chroot_ + (name.starts_with('/') ? "" : "/") + std::string(name);
    if (!is_path(path)) return std::nullopt;
    return path;
  }
  void sort(std::vector<Child>& claims) const override {
    std::ranges::sort(claims, [](const Child& a, const Child& b) {
      return a.order != b.order ? a.order < b.order : a.name < b.name;
    });
  }
  std::string reshaped(const Child& child, const Shape& shape) const override {
    return stem(child.claim, shape) + child.order;
  }
  Token token(std::int64_t number) const override { return {static_cast<std::uint64_t>(number)}; }
  // The data belongs to the other library: at most it says who made the node.
  std::string written(const Note& note) const override { return note.about; }
  Note read_note(std::string_view data) const override {
    Note note;
    note.about = data;
    return note;
  }

 private:
  const std::string chroot_;
};

class CuratorLayout final : public ForeignLayout {
 public:
  using ForeignLayout::ForeignLayout;

  bool contained() const override { return true; }

  std::string stem(const ClaimId& claim, const Shape& shape) const override {
    std::string uuid = core::in_hex(claim);
    for (const std::size_t at : {20U, 16U, 12U, 8U}) uuid.insert(at, "-");
    return std::string(protection) + uuid + "-" + std::string(word_of(shape));
  }

  // Every child counts; one without any of the words is sorted by its whole name.
  std::optional<Child> read(std::string_view name) const override {
    Child child{.name = std::string(name), .shape = unknown_shape, .order = std::string(name)};
    for (const Word& word : words) {
      const auto at = name.rfind(word.text);
      if (at == name.npos) continue;
      child.order = name.substr(at + word.text.size());
      child.shape = word.shape;
    }
    child.claim = claim_in(name);
    return child;
  }

  std::string written(const Note& note) const override {
    return note.revoked ? std::string(revocation) : note.about;
  }
  Note read_note(std::string_view data) const override {
    Note note = ForeignLayout::read_note(data);
    note.revoked = data == revocation;
    return note;
  }

 private:
  static constexpr std::string_view protection = "_c_", revocation = "__REVOKE__";
  struct Word {
    std::string_view text;
    Shape shape;
  };
  static constexpr Word words[] = {{"lock-", {Kind::mutex, 1, 1}},
                                   {"__READ__", {Kind::rw, rw_capacity, 1}},
                                   {"__WRIT__", {Kind::rw, rw_capacity, rw_capacity}}};

  static std::string_view word_of(const Shape& shape) {
    return shape.kind == Kind::mutex ? words[0].text
           : shape.weight == 1       ? words[1].text
                                     : words[2].text;
  }
  static ClaimId claim_in(std::string_view name) {
    if (!name.starts_with(protection)) return {};
    std::string hex;
    for (const char c : name.substr(protection.size(), 36))
      if (c != '-') hex += c;
    std::string_view rest = hex;
    return take_claim(rest).value_or(ClaimId{});
  }
};

class KazooLayout final : public ForeignLayout {
 public:
  using ForeignLayout::ForeignLayout;

  bool contained() const override { return false; }

  std::string stem(const ClaimId& claim, const Shape&) const override {
    return core::in_hex(claim) + std::string(word);
  }

  // A child counts if its name ends in the word and a sequence.
  std::optional<Child> read(std::string_view name) const override {
    const auto at = name.rfind(word);
    if (at == name.npos) return std::nullopt;
    const std::string_view sequence = name.substr(at + word.size());
    const std::string_view digits = sequence.substr(sequence.starts_with('-') ? 1 : 0);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (digits.size() != 10 || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
    std::string_view rest = name;
    return Child{.name = std::string(name),
                 .claim = take_claim(rest).value_or(ClaimId{}),
                 .shape = {Kind::mutex, 1, 1},
                 .order = std::string(sequence)};
  }

 private:
  static constexpr std::string_view word = "__lock__";
};

}  // namespace

std::unique_ptr<const Layout> curator_layout(std::string chroot) {
  return std::make_unique<CuratorLayout>(std::move(chroot));
}
std::unique_ptr<const Layout> kazoo_layout(std::string chroot) {
  return std::make_unique<KazooLayout>(std::move(chroot));
}

}  // namespace holdfast::stores::zookeeper
