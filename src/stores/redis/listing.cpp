// Who holds what. One script describes one name. A list reads every server by SCAN, page by page,
// and describes each key that it finds. It finishes a page before it asks for the next, so a
// million keys stream through; it keeps only holders and waiters.
#include <atomic>
#include <unordered_set>
#include <vector>

#include "stores/redis/keys.hpp"
#include "stores/redis/parts.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/trouble.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr std::int64_t page_size = 500;  // roughly; also how many descriptions are in flight

// The name is the key, so the characters that are special in a glob are escaped.
std::string verbatim_pattern(std::string_view prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern += '*';
}

class Search final : public Whole<Listing> {
 public:
  Search(RedisStore& of, std::string_view prefix, Pending<Listing>& call)
      : Whole(of, call),
        pattern(of.setting().string_dialect ? verbatim_pattern(prefix) : lock_pattern(prefix)) {}

  bool name_at(std::string_view key, std::string& name) const {
    if (!store.setting().string_dialect) return name_of(key, name);
    name = key;
    return true;
  }
  // Returns the deadline of what is sent from now on.
  BootTime passed(std::uint64_t keys) noexcept { return looked_at(passed_ += keys); }
  // SCAN may find a key more than once, and so may two nodes while its slot moves.
  void add(std::vector<Holder>&& holders) {
    if (holders.empty() || !listed_.insert(holders.front().name).second) return;
    for (Holder& holder : holders) result.holders.push_back(std::move(holder));
  }

  const std::string pattern;

 private:
  std::unordered_set<std::string> listed_;
  std::atomic<std::uint64_t> passed_{0};
};

// Scans one server. It rests while the keys of a page are described.
class Scan final : public Part<Search> {
 public:
  using Part::Part;
  void write(std::string& out, const Link& link) override {
    if (via != &link) cursor_ = "0";  // a cursor is valid on its own server only
    const bool plain = whole_->store.setting().string_dialect;
    Request(out, 8) << "SCAN" << cursor_ << "MATCH" << whole_->pattern << "COUNT" << page_size
                    << "TYPE" << std::string_view(plain ? "string" : "hash");
  }
  void read(const Reply& reply) override {
    cursor_ = reply[0].text;
    if (cursor_.empty()) return whole_->fail(protocol_problem());
    std::string name;
    for (const Reply& key : reply[1].items)
      if (whole_->name_at(key.text, name)) page_.push_back(std::move(name));
  }
  void deliver(TaskPtr self) noexcept override;

  void go_on(TaskPtr self) noexcept {
    page_.clear();
    if (whole_->failed() || cursor_ == "0") return;
    deadline = whole_->passed(0);
    whole_->store.send(std::move(self));
  }

 private:
  std::string cursor_ = "0";
  std::vector<std::string> page_;
};

// Resumes the scan when the last description lets go of the page.
struct Page {
  explicit Page(TaskPtr of) : scan(std::move(of)) {}
  ~Page() {
    Scan& done = static_cast<Scan&>(*scan);
    done.go_on(std::move(scan));
  }
  TaskPtr scan;
};

class Description final : public Part<Search> {
 public:
  Description(std::shared_ptr<Search> of, std::shared_ptr<Page> page, std::string_view name)
      : Part(std::move(of)), page_(std::move(page)), name_(name) {
    slot = whole_->store.slot_of(name_);
    if (page_) deadline = page_->scan->deadline;
  }
  void write(std::string& out, const Link&) override {
    write_describe(out, name_, whole_->store.setting(), by_text);
  }
  void read(const Reply& reply) override {
    std::vector<Holder> holders;
    if (!read_describe(reply, name_, holders)) return whole_->fail(protocol_problem());
    whole_->add(std::move(holders));
  }

 private:
  const std::shared_ptr<Page> page_;  // null: only this name was asked for
  const std::string_view name_;       // owned by the page or by the caller
};

void Scan::deliver(TaskPtr self) noexcept {
  deadline = whole_->passed(page_size);
  if (whole_->failed() || page_.empty()) return go_on(std::move(self));
  std::shared_ptr<Page> page;
  try {
    page = std::make_shared<Page>(std::move(self));
    for (const std::string& name : page_)
      whole_->store.send(std::make_unique<Description>(whole_, page, name));
  } catch (const std::bad_alloc&) {
    whole_->lack_memory();
  }
}

void lack_memory(Pending<Listing>& call) noexcept {
  Listing listing;
  listing.problem.errc = Errc::unavailable;
  call.done(std::move(listing));
}

}  // namespace

void RedisStore::describe(std::string_view name, Pending<Listing>& call) noexcept try {
  const auto search = std::make_shared<Search>(*this, name, call);
  start(search, [&] { send(std::make_unique<Description>(search, nullptr, name)); });
} catch (const std::bad_alloc&) {
  lack_memory(call);
}

void RedisStore::list(std::string_view prefix, Pending<Listing>& call) noexcept try {
  ask_each<Scan>(std::make_shared<Search>(*this, prefix, call));
} catch (const std::bad_alloc&) {
  lack_memory(call);
}

}  // namespace holdfast::stores::redis
