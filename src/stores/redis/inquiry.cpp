// What the store guarantees, given how its servers are run.
#include <vector>

#include "stores/redis/parts.hpp"
#include "stores/redis/survey.hpp"

namespace holdfast::stores::redis {
namespace {

struct Inquiry final : Whole<Promise> {
  using Whole::Whole;
  void conclude() override { result.guarantees = judge(store.options(), servers).guarantees; }

  std::vector<Facts> servers;
};

class ServerSurvey final : public Part<Inquiry> {
 public:
  using Part::Part;
  void write(std::string& out, const Link&) override { survey_.write(out); }
  void read(const Reply& reply) override {
    survey_.read(reply);
    if (survey_.complete()) whole_->servers.push_back(survey_.facts());
  }
  void refuse(Said said, const Problem& problem) noexcept override try {
    if (said != Said::no || !survey_.refused()) return whole_->fail(problem);
    whole_->servers.push_back(survey_.facts());
  } catch (const std::bad_alloc&) {
    whole_->lack_memory();
  }
  void deliver(TaskPtr self) noexcept override {
    if (!survey_.complete() && !whole_->failed()) whole_->store.send(std::move(self));
  }

 private:
  Survey survey_;
};

}  // namespace

void RedisStore::guarantees(Pending<Promise>& call) noexcept try {
  ask_each<ServerSurvey>(std::make_shared<Inquiry>(*this, call));
} catch (const std::bad_alloc&) {
  Promise promise;
  promise.problem.errc = Errc::unavailable;
  call.done(std::move(promise));
}

}  // namespace holdfast::stores::redis
