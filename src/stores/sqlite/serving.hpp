// stores/sqlite/serving.hpp: what each request does, inside one transaction.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "stores/common/request.hpp"
#include "stores/sqlite/session.hpp"
#include "stores/sqlite/watches.hpp"

namespace holdfast::stores::sqlite {

// What a batch does after its commit.
struct Aftermath {
  struct Told {
    core::Party party;
    Message message;
  };
  std::vector<Told> told;
  std::vector<Watches::Watch> watched;
  std::vector<ClaimId> unwatched;
  std::vector<ClaimId> delayed;  // held or in line, with a lock_delay
  std::vector<ClaimId> dropped;
};

// Answers requests; each call fills in a reply.
class Serving {
 public:
  Serving(Session& session, Aftermath& aftermath);

  void operator()(const Ask& ask, Answer& reply);
  void operator()(std::span<const Keep> keeps, Answers& replies);
  void operator()(std::span<const Drop> drops, Answers& replies);
  void operator()(const Revoke& revoke, Answer& reply);
  void operator()(const Describe& describe, Listing& reply);
  void operator()(ListNames& list, Listing& reply);
  void operator()(const Add& add, Cell& reply);
  void operator()(const Swap& swap, Cell& reply);
  void operator()(const Get& get, Cell& reply);
  void operator()(const StateGuarantees& state, Promise& reply);
  void operator()(const CreateMissing& create, Answer& reply);
  void operator()(const Inspect& inspect, Inspection& reply);

 private:
  template <class Step>
  Answer at(std::string_view name, Step&& step);
  template <class Change>
  Cell change_cell(std::string_view name, Change&& change);
  void add_holders(std::string_view name, Listing& reply);
  std::optional<CellState> cell(std::string_view name);

  Session& session_;
  Aftermath& aftermath_;
  const std::int64_t now_us_;
};

}  // namespace holdfast::stores::sqlite
