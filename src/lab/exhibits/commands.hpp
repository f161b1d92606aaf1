// lab/exhibits/commands.hpp: the store's commands that the processes of an exhibit send.
#pragma once

#include "lab/exhibits/keeper.hpp"

namespace holdfast::lab::exhibits::redis {

Request setnx(Actor& self);
Request expire(Actor& self, Nanos ttl);
Request set(Actor& self, Nanos ttl);            // SET lock A NX PX …
Request set_and_count(Actor& self, Nanos ttl);  // the same in a script, which also draws a number
Request get();
Request del();
Request del_if_own(Actor& self);
Request extend_if_own(Actor& self, Nanos ttl);

}  // namespace holdfast::lab::exhibits::redis
