// `sqlite:FILE`: one file, any number of processes of one machine.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "core/text.hpp"
#include "runtime/forks.hpp"
#include "stores/common/blocking.hpp"
#include "stores/common/clock.hpp"
#include "stores/sqlite/inherited.hpp"
#include "stores/sqlite/serving.hpp"
#include "stores/sqlite/session.hpp"
#include "stores/sqlite/trouble.hpp"
#include "stores/sqlite/watches.hpp"

namespace holdfast::stores::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr Traits sqlite_traits{
    .scheme = "sqlite",
    .durable = true,
    .ends_with_process = true,
    .cells = true,
    .expiring_cells = true,
};
constexpr int most_messages = 64;  // per attend(), so that a thread that stays for them can leave

class SqliteStore final : public Blocking {
 public:
  SqliteStore(std::string path, Hints& hints) : path_(std::move(path)), hints_(hints) {}
  ~SqliteStore() override;

  const Traits& traits() const noexcept override { return sqlite_traits; }
  Cells* cells() noexcept override { return this; }
  int readable() const noexcept override { return messages(); }
  void close(BootTime until) noexcept override;

 private:
  void run(std::span<Request> batch) noexcept override;
  int messages() const noexcept override;
  Attended attend() noexcept override;

  void attempt(std::span<Request> batch) noexcept;
  void transact(Session& session, std::span<Request> batch);
  Session& session(BootTime deadline);
  void follow(const Session& session, Aftermath& aftermath) noexcept;
  void tell(const Message& message) noexcept;
  bool note_delayed(const Aftermath& aftermath);
  bool has_delayed() noexcept;

  const std::string path_;
  Hints& hints_;
  const std::uint64_t epoch_ = detail::fork_epoch();
  std::atomic<Session*> session_{nullptr};  // the first batch makes it; attend() reads it
  Watches watches_;
  std::mutex delayed_mutex_;
  std::set<ClaimId> delayed_;  // our claims whose lock_delay needs the time of our death
};

// In a forked child the session is the parent's: ending it there would remove the parent's files.
SqliteStore::~SqliteStore() {
  if (epoch_ != detail::fork_epoch()) return;
  const AtWork at_work;
  delete session_.load(std::memory_order_acquire);
}

// The destructor does not always run before the process ends.
void SqliteStore::close(BootTime) noexcept {
  if (const Session* const open = session_.load(std::memory_order_acquire)) open->post.retire();
}

// A batch waits at most this long for another process's transaction. Then requests with time left
// come again, together with newer ones.
constexpr auto longest_wait = 500ms;

BootTime earliest(std::span<const Request> batch) {
  BootTime deadline = BootClock::now() + longest_wait;
  for (const Request& request : batch) deadline = std::min(deadline, request.deadline());
  return deadline;
}

// A claim is lost with its file, and nothing may be granted in a file that nobody else sees.
void answer_replaced(Request& request, const std::string& path) {
  request.refuse(Said::no, {Errc::corrupt, "replaced",
                            core::escaped(path) +
                                " was replaced or removed while in use; open the store again"});
  request.answer([](const auto&, auto& reply) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(reply)>, Answers>)
      for (Answer& answer : reply) answer.said = Said::gone;
  });
}

// Requests with time left stay unanswered and come again.
void answer_busy(std::span<Request> batch, const Problem& problem) {
  const BootTime now = BootClock::now();
  for (Request& request : batch)
    if (request.deadline() <= now) request.refuse(Said::no, problem);
}

// ── a batch ──────────────────────────────────────────────────────────────────────────────────────

struct Failure {
  Said said = Said::no;
  bool busy = false;
  Problem problem;
};

// Describes the exception being handled.
Failure current_failure(const std::string& path) noexcept {
  Failure failure;
  try {
    try {
      throw;
    } catch (const Trouble& trouble) {
      failure.problem = trouble.problem;
    } catch (const SqlFailure& refused) {
      failure.busy = refused.is_busy();
      if (refused.may_be_committed()) failure.said = Said::unknown;
      failure.problem = explain(refused, path);
    }
  } catch (const std::bad_alloc&) {
    failure.problem = {Errc::unavailable, "no_memory", "out of memory"};
  }
  return failure;
}

void SqliteStore::run(std::span<Request> batch) noexcept {
  const AtWork at_work;
  attempt(batch);
}

void SqliteStore::attempt(std::span<Request> batch) noexcept {
  Failure failure;
  bool opened = false;
  try {
    Session& open = session(earliest(batch));
    opened = true;
    return transact(open, batch);
  } catch (...) {
    failure = current_failure(path_);
  }
  if (failure.busy) return answer_busy(batch, failure.problem);
  if (opened && failure.said == Said::no && batch.size() > 1) {
    // One request may be the reason, so each runs on its own.
    for (std::size_t i = 0; i < batch.size(); ++i) attempt(batch.subspan(i, 1));
  } else {
    for (Request& request : batch) request.refuse(failure.said, failure.problem);
  }
}

Session& SqliteStore::session(BootTime deadline) {
  if (epoch_ != detail::fork_epoch())
    refuse(Errc::invalid, "forked",
           "the store was opened before a fork; open it again in the child");
  if (Session* opened = session_.load(std::memory_order_relaxed)) return *opened;
  auto* const made = new Session(path_, deadline);
  session_.store(made, std::memory_order_release);
  rouse();
  return *made;
}

void SqliteStore::transact(Session& session, std::span<Request> batch) {
  const bool writes =
      !session.settled || std::any_of(batch.begin(), batch.end(),
                                      [](const Request& request) { return request.writes(); });
  Aftermath aftermath;
  {
    session.database.set_deadline(earliest(batch));
    Transaction transaction(session.database,
                            writes ? Transaction::Mode::write : Transaction::Mode::read);
    if (!session.intact()) {
      for (Request& request : batch) answer_replaced(request, path_);
      return;
    }
    if (!session.settled) session.settle_in();
    Serving serving(session, aftermath);
    for (Request& request : batch) request.answer(serving);
    transaction.commit();
    session.settled = true;
  }
  follow(session, aftermath);
}

// If memory is short, messages or watches are lost here; waiters ask again anyway.
void SqliteStore::follow(const Session& session, Aftermath& aftermath) noexcept try {
  for (const auto& [party, message] : aftermath.told) session.post.send(party, message);
  for (const ClaimId& claim : aftermath.unwatched) watches_.drop(claim);
  bool earlier = note_delayed(aftermath);
  for (Watches::Watch& watch : aftermath.watched) earlier |= watches_.set(std::move(watch));
  if (earlier) rouse();
} catch (const std::bad_alloc&) {
}

// True if these are our first claims with a lock_delay: now attend() must start to beat.
bool SqliteStore::note_delayed(const Aftermath& aftermath) {
  const std::lock_guard lock(delayed_mutex_);
  const bool first = delayed_.empty();
  delayed_.insert(aftermath.delayed.begin(), aftermath.delayed.end());
  for (const ClaimId& claim : aftermath.dropped) delayed_.erase(claim);
  return first && !delayed_.empty();
}

bool SqliteStore::has_delayed() noexcept {
  const std::lock_guard lock(delayed_mutex_);
  return !delayed_.empty();
}

// ── messages ─────────────────────────────────────────────────────────────────────────────────────

int SqliteStore::messages() const noexcept {
  const Session* const open = session_.load(std::memory_order_acquire);
  return open ? open->post.descriptor() : -1;
}

Blocking::Attended SqliteStore::attend() noexcept {
  Attended attended;
  const Session* const open = session_.load(std::memory_order_acquire);
  if (!open || epoch_ != detail::fork_epoch()) return attended;
  const bool beats = has_delayed();
  if (beats) open->life.beat(now_us());
  try {
    std::optional<Message> message;
    for (int seen = 0; seen < most_messages && open->post.receive(message); ++seen) {
      if (!message) continue;
      tell(*message);
      attended.told = true;
    }
    for (const std::string& name :
         watches_.check(open->life.file(), BootClock::now(), attended.again)) {
      hints_.look(name);
      attended.told = true;
    }
    if (beats) attended.again = std::min(attended.again, BootClock::now() + Life::pace);
  } catch (const std::bad_alloc&) {
    attended.again = BootClock::now() + 20ms;
  }
  return attended;
}

void SqliteStore::tell(const Message& message) noexcept {
  watches_.drop(message.claim);
  if (message.what == core::Notice::What::gone) return hints_.gone(message.name, message.claim);
  Answer answer;
  answer.said = Said::yes;
  answer.number = message.number;
  answer.ttl = message.ttl;
  answer.store_us = message.store_us;
  hints_.granted(message.name, message.claim, answer);
}

// ── opening ──────────────────────────────────────────────────────────────────────────────────────

std::unique_ptr<Backend> open_sqlite(const Opening& opening, Problem& problem) {
  const Url& url = opening.url;
  const bool has_host = std::any_of(url.hosts.begin(), url.hosts.end(), [](const Url::Host& host) {
    return !host.name.empty() || host.port != 0;
  });
  if (has_host || !url.user.empty() || !url.password.empty()) {
    problem = {Errc::invalid, "url",
               "a SQLite store has no host: write sqlite:FILE, sqlite:/FILE or sqlite:///FILE"};
  } else if (url.path.empty() || url.path.find('\0') != std::string::npos) {
    problem = {Errc::invalid, "url", "a SQLite store needs a file: write sqlite:FILE"};
  } else if (!url.options.empty()) {
    problem = {
        Errc::invalid, "unknown_option",
        "a SQLite store knows no option '" + core::escaped(url.options.begin()->first) + "'"};
  } else {
    // The folder as of now, which may change before the first use.
    std::error_code error;
    const auto path = std::filesystem::absolute(url.path, error);
    if (!error) return std::make_unique<SqliteStore>(path.string(), opening.hints);
    problem = {Errc::invalid, "no_folder",
               "there is no current folder; write the file's whole path"};
  }
  return nullptr;
}

constexpr Module module{.version = module_version, .schemes = "sqlite", .open = open_sqlite};

}  // namespace
}  // namespace holdfast::stores::sqlite

extern "C" const holdfast::Module* holdfast_module() { return &holdfast::stores::sqlite::module; }
