// stores/zookeeper/registry.hpp: requests about everybody's claims: lists and revocations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stores/common/courier.hpp"
#include "stores/common/flow.hpp"
#include "stores/zookeeper/keeper.hpp"
#include "stores/zookeeper/line.hpp"
#include "stores/zookeeper/task.hpp"

namespace holdfast::stores::zookeeper {

class Registry {
 public:
  Registry(const Options& options, const Paths& paths, const Layout& layout, Keeper& keeper)
      : options_(options), paths_(paths), layout_(layout), keeper_(keeper) {}

  // of_one: of that name alone; else of every name that begins with `of`.
  Flow tell_holders(std::string of, bool of_one, Courier::Ticket<Listing> ticket);
  Flow revoke(std::string name, bool now, Courier::Ticket<Answer> ticket);

 private:
  Task<Outcome> names(std::string prefix, std::shared_ptr<Session> session);
  Task<int> list_some(std::vector<std::string> names, std::shared_ptr<Session> session,
                      Listing& listing);
  Task<int> revoke_one(std::string folder, std::string child, std::string marker, bool now,
                       std::shared_ptr<Session> session);

  const Options& options_;
  const Paths& paths_;
  const Layout& layout_;
  Keeper& keeper_;
};

}  // namespace holdfast::stores::zookeeper
