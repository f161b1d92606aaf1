# What runs where. A suite of the conformance and fault tests is about one of two things:
#
#   contract   what a backend promises; it runs on every row of tests/support/store_cases.cpp
#   library    what the library does above any backend; it runs on memory and one row per store
#
# A suite whose name ends in Clock must see real time pass; it runs on one row per store as well.
# Sanitizers run every suite on memory, and some of them on one row per store. `./dev all` runs
# every suite on every row, in every build. A suite that no list here names fails the test
# tidy.lists_are_true.

set(contract
  CommandOnStores Deaths Exclusion Holders Kinds Leftovers Loss LostReply Names Revoke Row Tokens
  Waiting
  NetworkFaults ProcessFaults)
set(library
  Async Cancel Closing Descriptors Events Fork Loading Options Reentry Several Standard
  LoadFaults ResourceFaults TimeFaults)

set(one_row_per_store memory sqlite redis zookeeper etcd)

# Under a sanitizer: these run on one row per store, beside memory.
set(sanitized_on_stores ${contract} Async Cancel Closing)
list(REMOVE_ITEM sanitized_on_stores CommandOnStores NetworkFaults ProcessFaults)

# One process for each case, because these suites test the process itself.
set(one_process_per_case Fork Loading ResourceFaults ResourceFaultsClock)

# These keep the processors busy, so they do not run beside tests that wait.
set(computing_labels lab)
set(computing_suites Exclusion Kinds LoadFaults Names ResourceFaultsClock)
