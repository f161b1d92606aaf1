// stores/zookeeper/cells.hpp: cells, one node each, changed by versioned writes.
//
// A node is never deleted, so its cell's versions go on. A cell that expires contains its end in
// the servers' time. To learn that time now, the store writes to a node of its own, because no
// client's clock counts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "stores/common/cell.hpp"
#include "stores/common/courier.hpp"
#include "stores/common/flow.hpp"
#include "stores/zookeeper/folders.hpp"
#include "stores/zookeeper/keeper.hpp"
#include "stores/zookeeper/paths.hpp"

namespace holdfast::stores::zookeeper {

class CellFolder {
 public:
  CellFolder(const Options& options, const Paths& paths, Keeper& keeper)
      : options_(options), paths_(paths), keeper_(keeper) {}

  void add(const Add& add, Courier::Ticket<Cell> ticket);
  void swap(const Swap& swap, Courier::Ticket<Cell> ticket);
  void get(std::string_view name, Courier::Ticket<Cell> ticket);

 private:
  using State = std::optional<CellState>;
  // Applies a request to a cell: returns the answer and, if it says yes, changes the state.
  using Change =
      std::function<Cell(State& state, std::int64_t now_us, std::uint64_t first_version)>;

  Flow change(std::string path, bool expires, Change change, Courier::Ticket<Cell> ticket);
  Flow read(std::string path, Courier::Ticket<Cell> ticket);
  Task<Outcome> write(std::string path, std::string data, int version,
                      std::shared_ptr<Session> session);
  Task<std::optional<std::int64_t>> server_us(std::shared_ptr<Session> session);

  const Options& options_;
  const Paths& paths_;
  Keeper& keeper_;
};

}  // namespace holdfast::stores::zookeeper
