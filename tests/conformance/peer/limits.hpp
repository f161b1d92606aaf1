// tests/conformance/peer/limits.hpp: takes away from this process what most take for granted.
#pragma once

namespace holdfast::support {

void limit_descriptors(unsigned long count);
void use_up_descriptors();  // no more can be opened; those that are open stay so

// From now on every thread creation fails with EAGAIN, as at the limit of a pids cgroup.
void forbid_threads();

// From now on the nth allocation fails, and only that one: of this thread, or of all others. 0:
// none fails. Those of other libraries do not count, because gRPC ends the process when one fails.
void fail_allocation(long nth);
void fail_allocation_of_others(long nth);
bool allocation_failed();  // since then

}  // namespace holdfast::support
