// One server, which has everything.
#include "stores/redis/router.hpp"

namespace holdfast::stores::redis {
namespace {

class Single final : public Router {
 public:
  explicit Single(const Routing& routing)
      : Router(routing), node_(routing.options.places.front(), routing) {}

  void send(TaskPtr&& task, BootTime now) override { node_.send(std::move(task), now); }
  void each(const std::function<TaskPtr()>& make, BootTime now) override { send(make(), now); }
  const net::Place* messages() noexcept override { return &node_.place(); }

 private:
  Node node_;
};

}  // namespace

std::unique_ptr<Router> make_single(const Routing& routing) {
  return std::make_unique<Single>(routing);
}

}  // namespace holdfast::stores::redis
