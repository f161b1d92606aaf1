// What `init` does. A store needs nothing before its first use, because each connection loads the
// scripts; so plain init only checks that the servers answer. Init::as_new marks the servers for
// the amnesia guard. After FLUSHALL or an empty restart, a marker would let a second holder in, so
// Init::as_new is refused while anything hints at a holder: another holdfast connection, or a lock.
// It checks only masters, because a holder renews its lock at the master.
#include <algorithm>
#include <mutex>
#include <utility>

#include "core/text.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/parts.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/trouble.hpp"

namespace holdfast::stores::redis {
namespace {

// Passes the answer to `next` and deletes itself.
template <class R, class Next>
class Continuation final : public Pending<R> {
 public:
  Continuation(BootTime by, Next next) : next_(std::move(next)) { this->deadline = by; }
  void done(R answer) noexcept override {
    next_(std::move(answer));
    delete this;
  }

 private:
  ~Continuation() = default;
  Next next_;
};
template <class R, class Next>
Pending<R>& then(const Call& call, Next next) {
  return *new Continuation<R, Next>(call.deadline, std::move(next));
}

Answer refusal(Problem problem) noexcept {
  Answer answer;
  answer.said = Said::no;
  answer.problem = std::move(problem);
  return answer;
}

Problem in_use(const std::string& what) {
  return {Errc::busy, "in_use",
          what +
              "; end all that use it, and wait for their longest ttl: processes that are not "
              "connected cannot be seen"};
}

struct Round final : Whole<Answer> {
  using Whole::Whole;
  void conclude() override {
    if (failed()) result.said = Said::no;
  }
};

class Ping final : public Part<Round> {
 public:
  using Part::Part;
  void write(std::string& out, const Link&) override { Request(out, 1) << "PING"; }
  void read(const Reply&) override {}
};

// ── other connections ────────────────────────────────────────────────────────────────────────────

class Connections final : public Part<Round> {
 public:
  using Part::Part;
  void write(std::string& out, const Link&) override {
    Request(out, 2) << "CLIENT"
                    << "LIST";
  }
  void read(const Reply& reply) override;
  void refuse(Said, const Problem& problem) noexcept override;
};

// One line per connection: "id=7 addr=127.0.0.1:40012 … name=holdfast-… …".
std::string_view field(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == line.npos) return {};
  line.remove_prefix(at + word.size());
  return line.substr(0, line.find(' '));
}

void Connections::read(const Reply& reply) {
  const std::string& ours = whole_->store.options().client_name;
  bool named = false;
  for (std::string_view rest = reply.text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string_view name = field(line, " name=");
    named = named || name == ours;
    if (name == ours || !name.starts_with(client_prefix)) continue;
    return whole_->fail(in_use("another process or store of holdfast is connected (" +
                               core::escaped(name) + " at " + core::escaped(field(line, " addr=")) +
                               ")"));
  }
  if (!named)
    whole_->fail({Errc::denied, "permission",
                  "connections of holdfast cannot be told from others; give the user "
                  "+client|setname by ACL SETUSER"});
}

void Connections::refuse(Said, const Problem& problem) noexcept try {
  if (problem.reason != "permission") return whole_->fail(problem);
  whole_->fail(
      {problem.errc, problem.reason,
       "the user may not look for other connections; give it +client|list by ACL SETUSER"});
} catch (const std::bad_alloc&) {
  whole_->lack_memory();
}

// ── the guard's markers ──────────────────────────────────────────────────────────────────────────

constexpr std::uint32_t most_marks = 256;  // in flight at once

struct Initiation final : Whole<Answer> {
  Initiation(RedisStore& of, Pending<Answer>& call)
      : Whole(of, call), markers(of.setting().cluster ? slots : 1) {}

  void conclude() override {
    if (failed()) result.said = Said::no;  // marking again does no harm
    if (failed() || quarantine == Millis(0)) return;
    result.said = Said::no;
    result.problem = {Errc::unavailable, "quarantine",
                      "it is not new, and may have forgotten locks that are still held; it grants "
                      "none for another " +
                          std::to_string((quarantine.count() + 999) / 1000) + " s"};
  }

  const std::uint32_t markers;
  std::atomic<std::uint32_t> next{0};
  Millis quarantine{0};  // the longest that is left in any slot
};

// Marks one slot after the other. If a slot's marker is of an earlier run, its quarantine begins.
class Marker final : public Part<Initiation> {
 public:
  using Part::Part;
  bool take() noexcept {
    const std::uint32_t taken = whole_->next++;
    slot = static_cast<std::uint16_t>(taken);
    redirections = 0;
    by_text = false;
    marking_ = Marking::first;
    return taken < whole_->markers;
  }
  void write(std::string& out, const Link& link) override {
    const Setting& setting = whole_->store.setting();
    write_mark(out, setting.cluster ? marker_key(slot) : marker_key(), setting,
               link.server().run_id, marking_, by_text);
  }
  void read(const Reply& reply) override {
    Mark mark;
    if (!read_mark(reply, mark)) return whole_->fail(protocol_problem());
    marked_ = mark.ours;
    if (!marked_ && marking_ == Marking::touch)
      return whole_->fail({Errc::unavailable, "not_marked", "the server takes no marker now"});
    whole_->quarantine = std::max(whole_->quarantine, mark.quarantine);
    marking_ = Marking::touch;
  }
  void deliver(TaskPtr self) noexcept override {
    if (!whole_->failed() && (!marked_ || take())) whole_->store.send(std::move(self));
  }

 private:
  Marking marking_ = Marking::first;
  bool marked_ = false;
};

void mark(RedisStore& store, Pending<Answer>& call) noexcept try {
  const auto whole = std::make_shared<Initiation>(store, call);
  start(whole, [&] {
    for (std::uint32_t i = 0; i < std::min(whole->markers, most_marks); ++i) {
      auto marker = std::make_unique<Marker>(whole);
      marker->take();
      store.send(std::move(marker));
    }
  });
} catch (const std::bad_alloc&) {
  call.done(refusal({Errc::unavailable, "no_memory", {}}));
}

void look_for_locks(RedisStore& store, Pending<Answer>& call) noexcept try {
  store.list({}, then<Listing>(call, [&](Listing listing) noexcept {
               if (listing.problem.errc != Errc{})
                 return call.done(refusal(std::move(listing.problem)));
               if (listing.holders.empty()) return mark(store, call);
               try {
                 const Holder& holder = listing.holders.front();
                 call.done(refusal(in_use("'" + core::escaped(holder.name) +
                                          (holder.waits ? "' is waited for by " : "' is held by ") +
                                          core::escaped(holder.who))));
               } catch (const std::bad_alloc&) {
                 call.done(refusal({Errc::busy, "in_use", {}}));
               }
             }));
} catch (const std::bad_alloc&) {
  call.done(refusal({Errc::unavailable, "no_memory", {}}));
}

}  // namespace

// Without a guard there is nothing to mark.
void RedisStore::init(Init what, Pending<Answer>& call) noexcept try {
  if (what == Init::missing || !setting().guard)
    return ask_each<Ping>(std::make_shared<Round>(*this, call));
  ask_each<Connections>(
      std::make_shared<Round>(*this, then<Answer>(call, [&](Answer answer) noexcept {
        if (answer.said != Said::yes) return call.done(std::move(answer));
        look_for_locks(*this, call);
      })));
} catch (const std::bad_alloc&) {
  call.done(refusal({Errc::unavailable, "no_memory", {}}));
}

}  // namespace holdfast::stores::redis
