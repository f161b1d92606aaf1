// The locks that the runs around this one hold, so that an inner run of the same name does not wait
// for itself. HOLDFAST_HELD carries them: the store's identity, then NAME=TOKEN=SIDE for each,
// outermost first.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "holdfast/result.hpp"

namespace holdfast::cli {

class Chain {
 public:
  struct Entry {
    std::string name;
    Token token;
    std::string side;
  };

  static Chain from_environment();  // throws Failure if the variable was tampered with

  bool empty() const noexcept { return entries_.empty(); }
  const std::string& store() const noexcept { return store_; }
  const Entry* find(const std::string& name) const noexcept;  // the innermost
  void add(const std::string& store, Entry entry);
  std::string to_environment() const;

 private:
  std::string store_;
  std::vector<Entry> entries_;
};

// "exclusive", "shared", or "K/N" for permits.
std::string side_of(const Options& options);

// True if a holder of `outer` already holds what `options` ask for.
bool covers(const std::string& outer, const Options& options);

}  // namespace holdfast::cli
