// Tasks for the operations on cells.
#include <new>

#include "stores/redis/store.hpp"

namespace holdfast::stores::redis {
namespace {

void write_cell(std::string& out, const Add& add, bool by_text) { write_add(out, add, by_text); }
void write_cell(std::string& out, const Swap& swap, bool by_text) {
  write_swap(out, swap, by_text);
}
void write_cell(std::string& out, std::string_view name, bool by_text) {
  write_get(out, name, by_text);
}

template <class Question>
class CellTask final : public Task {
 public:
  CellTask(const Question& question, std::uint16_t of_slot, Pending<Cell>& call)
      : question_(question), call_(call) {
    deadline = call.deadline;
    slot = of_slot;
  }
  void write(std::string& out, const Link&) override { write_cell(out, question_, by_text); }
  void read(const Reply& reply) override { cell_ = read_cell(reply); }
  void refuse(Said said, const Problem& problem) noexcept override {
    cell_ = {};
    cell_.said = said;
    cell_.problem = problem;
  }
  void deliver(TaskPtr) noexcept override { call_.done(std::move(cell_)); }

 private:
  const Question question_;  // what it points to stays alive until the answer
  Pending<Cell>& call_;
  Cell cell_;
};

template <class Question>
void start(RedisStore& store, const Question& question, std::string_view name,
           Pending<Cell>& call) noexcept try {
  store.send(std::make_unique<CellTask<Question>>(question, store.slot_of(name), call));
} catch (const std::bad_alloc&) {
  Cell cell;
  cell.said = Said::no;
  cell.problem.errc = Errc::unavailable;
  call.done(std::move(cell));
}

}  // namespace

void RedisStore::add(const Add& add, Pending<Cell>& call) noexcept {
  start(*this, add, add.name, call);
}
void RedisStore::swap(const Swap& swap, Pending<Cell>& call) noexcept {
  start(*this, swap, swap.name, call);
}
void RedisStore::get(std::string_view name, Pending<Cell>& call) noexcept {
  start(*this, name, name, call);
}

}  // namespace holdfast::stores::redis
