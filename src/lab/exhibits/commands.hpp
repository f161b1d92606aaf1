// lab/exhibits/commands.hpp: what the processes of an exhibit ask for, in the words of the store.
#pragma once

#include "lab/exhibits/keeper.hpp"

namespace holdfast::lab::exhibits::redis {

Request setnx(Actor& self);
Request expire(Actor& self, Nanos ttl);
Request set(Actor& self, Nanos ttl);            // SET lock A NX PX …
Request set_and_count(Actor& self, Nanos ttl);  // the same in a script, and a number with it
Request get();
Request del();
Request del_if_own(Actor& self);
Request extend_if_own(Actor& self, Nanos ttl);

}  // namespace holdfast::lab::exhibits::redis
