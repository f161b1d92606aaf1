// stores/zookeeper/trouble.hpp: what went wrong, in words.
#pragma once

#include "holdfast/backend.hpp"
#include "stores/zookeeper/options.hpp"

namespace holdfast::stores::zookeeper {

Problem problem_of(int rc, const std::string& path = {});  // what a server or the library answered
Problem unreachable(const Options& options, bool had_session);
Problem went_back();
Problem not_opened(const Options& options, int error);
Problem too_short(Millis session, const Options& options);
Problem closing();

Answer refused(Said said, Problem problem);
Answer not_held();
Answer was_revoked();

}  // namespace holdfast::stores::zookeeper
