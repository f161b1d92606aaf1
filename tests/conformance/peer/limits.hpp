// tests/conformance/peer/limits.hpp: takes from this process what others take for granted.
#pragma once

namespace holdfast::support {

void limit_descriptors(unsigned long count);
void use_up_descriptors();  // those that are open stay so, and there are no more

// From now on every thread creation fails with EAGAIN, as at the limit of a pids cgroup.
void forbid_threads();

// The nth allocation from now on fails, and only that one: of this thread, or of all others. 0:
// none does. Those of other libraries do not count: gRPC ends the process when one fails.
void fail_allocation(long nth);
void fail_allocation_of_others(long nth);
bool allocation_failed();  // since then

}  // namespace holdfast::support
