// Goal: taking a free lock of `sqlite:` and giving it back costs at most 1.5 times the two bare
// transactions that this needs: one increments the name's number and writes the claim, one deletes
// it. Both are equally durable (write-ahead log, synchronous = FULL), in the same folder, with
// statements prepared once; otherwise the bare one keeps the defaults of SQLite.
#include <sqlite3.h>

#include <memory>
#include <stdexcept>

#include "holdfast/holdfast.hpp"
#include "measure.hpp"

namespace {

constexpr int rounds = 31;
constexpr int pairs = 50;
constexpr std::string_view name = "bench/uncontended/32-byte-name-1";

class Bare {
 public:
  explicit Bare(const std::string& file) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(file.c_str(), &opened);
    database_.reset(opened);
    expect(code);
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    run("CREATE TABLE names (name BLOB PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID");
    run("CREATE TABLE claims (name BLOB, id BLOB, number INTEGER NOT NULL, expires INTEGER NOT "
        "NULL,"
        " about BLOB NOT NULL, PRIMARY KEY (name, id)) WITHOUT ROWID");
    begin_ = prepared("BEGIN IMMEDIATE");
    commit_ = prepared("COMMIT");
    count_ =
        prepared("INSERT INTO names VALUES (?, 1) ON CONFLICT DO UPDATE SET number = number + 1");
    number_ = prepared("SELECT number FROM names WHERE name = ?");
    claim_ = prepared("INSERT INTO claims VALUES (?, ?, ?, ?, ?)");
    drop_ = prepared("DELETE FROM claims WHERE name = ? AND id = ?");
  }

  void acquire_and_release() {
    constexpr std::string_view id = "sixteen bytes id";
    constexpr std::string_view about = "host/1234 program";
    step(begin_);
    bind(count_, 1, name);
    step(count_);
    bind(number_, 1, name);
    const std::int64_t number = step(number_);
    bind(claim_, 1, name);
    bind(claim_, 2, id);
    expect(sqlite3_bind_int64(claim_.get(), 3, number));
    expect(sqlite3_bind_int64(claim_.get(), 4, 30'000'000));
    bind(claim_, 5, about);
    step(claim_);
    step(commit_);

    step(begin_);
    bind(drop_, 1, name);
    bind(drop_, 2, id);
    step(drop_);
    step(commit_);
  }

 private:
  struct End {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, End>;

  void expect(int code) const {
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
      throw std::runtime_error(sqlite3_errmsg(database_.get()));
  }
  void run(const char* sql) {
    expect(sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr));
  }
  Statement prepared(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    expect(sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement,
                              nullptr));
    return Statement(statement);
  }
  void bind(const Statement& statement, int at, std::string_view bytes) {
    expect(sqlite3_bind_blob64(statement.get(), at, bytes.data(), bytes.size(), SQLITE_STATIC));
  }
  std::int64_t step(const Statement& statement) {
    const int code = sqlite3_step(statement.get());
    const std::int64_t first =
        code == SQLITE_ROW ? sqlite3_column_int64(statement.get(), 0) : std::int64_t{0};
    expect(code);
    expect(sqlite3_reset(statement.get()));
    return first;
  }

  std::unique_ptr<sqlite3, End> database_;
  Statement begin_, commit_, count_, number_, claim_, drop_;
};

template <class Work>
double milliseconds_each(Work&& work) {
  const double seconds = bench::seconds_of([&] {
    for (int i = 0; i < pairs; ++i) work();
  });
  return seconds * 1000 / pairs;
}

void measure(const bench::Place& place) {
  Bare bare(place.folder + "/bare.db");
  const auto lock = holdfast::open("sqlite:" + place.folder + "/ours.db").value().lock(name);
  const auto result = bench::in_turn(
      rounds, [&] { return milliseconds_each([&] { lock.acquire().value().release().value(); }); },
      [&] { return milliseconds_each([&] { bare.acquire_and_release(); }); },
      [](double ours, double other) { return ours / other; });
  bench::print({.what = "acquire + release, free, sqlite: / two transactions",
                .ours = bench::shown(bench::spread_of(result.ours).median, "ms"),
                .beside = bench::shown(bench::spread_of(result.beside).median, "ms"),
                .measured = bench::spread_of(result.compared),
                .goal = {bench::Goal::Side::at_most, 1.5}});
}

}  // namespace

int main(int count, char** arguments) { return bench::run(count, arguments, measure); }
