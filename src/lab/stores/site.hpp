// lab/stores/site.hpp: stores whose nodes each decide alone, like Redis: a single node, several
// that share the names, or a master with a replica that follows with a lag.
#pragma once

#include "lab/stores/chronicle.hpp"
#include "lab/stores/store.hpp"
#include "stores/common/cell.hpp"

namespace holdfast::lab {

struct Knowledge;  // of one node
using CellStep = std::function<Cell(std::optional<stores::CellState>& state, std::int64_t now_us,
                                    std::uint64_t first_version)>;

class Site final : public Store {
 public:
  explicit Site(Scene& scene);
  ~Site() override;

  const Traits& traits() const noexcept override { return traits_; }
  std::unique_ptr<Backend> connect(Process& process, Hints& hints) override;
  void suffer(const Fault& fault) override;
  void calm() override;

  // ── for its backends ──
  Node& serving(std::uint16_t name) noexcept;
  Scene& scene() const noexcept { return scene_; }
  Answer ask(Node& node, const Ask& ask, const core::Party& party);
  Answer renew(Node& node, Keep keep, std::int16_t process);
  Answer release(Node& node, Drop drop, std::int16_t process);
  Answer revoke(Node& node, std::uint16_t name, bool now);
  Answer mint(Node& node, std::uint16_t name);  // only a number
  std::vector<Holder> holders(std::uint16_t name);
  std::vector<Holder> list(std::string_view prefix);
  Cell change(Node& node, std::string_view name, const CellStep& step);
  Node& serving_cells() noexcept { return serving(0); }

 private:
  struct Server;
  Server& server(const Node& node) noexcept;
  bool replicated() const noexcept { return scene_.plan.store.shape == Shape::replicated; }
  template <class Step>
  Answer step(Node& node, std::uint16_t name, const char* why, Step&& step);
  static Answer read_only();
  static ClaimId meant(const core::Admission& line, const ClaimId& claim, bool unchecked);
  void notify(Server& server, std::uint16_t name, const core::Notices& notices,
              std::int64_t store_us);
  void replicate(Server& master, std::function<void(Knowledge&)> change);
  void keep_snapshot(Server& server);
  void watch(Server& server, std::uint16_t name);
  void crash(Server& server, Nanos length);
  void restart(Server& server);
  void promote();
  void forget(Server& server);
  void recall(Server& server, Knowledge known, const char* why);
  void missed_messages(std::int16_t node);
  std::uint64_t least_number(const Server& server) const noexcept;

  Scene& scene_;
  Traits traits_;
  Chance chance_;
  Chronicle chronicle_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::size_t master_ = 0;
};

}  // namespace holdfast::lab
