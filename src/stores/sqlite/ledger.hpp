// stores/sqlite/ledger.hpp: names, claims and cells as rows. Use it only inside a transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/admission.hpp"
#include "stores/common/cell.hpp"
#include "stores/sqlite/database.hpp"
#include "stores/sqlite/statement.hpp"

namespace holdfast::stores::sqlite {

class Ledger {
 public:
  explicit Ledger(Database& database);

  struct Line {
    core::Admission admission;
    std::int64_t used_us = 0;
    bool known = false;  // has a row of its own
  };
  Line load(std::string_view name);
  // Writes what changed. A new name also removes a few names that nobody used for a day.
  void save(std::string_view name, Line& line, std::int64_t now_us);
  // The first `most` names with claims, sorted, that begin with `prefix` and are not before `from`.
  std::vector<std::string> names_with_claims(std::string_view prefix, std::string_view from,
                                             std::size_t most);

  std::optional<CellState> load_cell(std::string_view name);
  void save_cell(std::string_view name, const CellState& cell, std::int64_t now_us);

  std::string meta(std::string_view key);
  void set_meta(std::string_view key, std::string_view value);

  // After another boot, or with another clock, the stamps mean nothing and no holder can be alive.
  void forget_time(std::int64_t now_us);
  // The slots in the claims are of another -live file and prove nothing: claims end by their ttl.
  void forget_lives();

 private:
  void save_head(std::string_view name, Line& line, std::int64_t now_us);
  void save_claims(std::string_view name, const core::Admission& line);
  void sweep_names(std::int64_t now_us);
  // No name that was swept away had a number above this one. New names begin above it, because each
  // may be a name that was swept away.
  std::uint64_t floor();
  void raise_floor(std::uint64_t number);

  Database& database_;
  Statement load_name_;
  Statement load_claims_;
  Statement add_name_;
  Statement change_name_;
  Statement touch_name_;
  Statement remove_name_;
  Statement old_names_;
  Statement add_claim_;
  Statement change_claim_;
  Statement remove_claim_;
  Statement list_names_;
  Statement load_cell_;
  Statement save_cell_;
  Statement old_cells_;
  Statement load_meta_;
  Statement save_meta_;
};

}  // namespace holdfast::stores::sqlite
