#include "cli/run/run.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "cli/failure.hpp"
#include "cli/run/command.hpp"
#include "cli/run/environment.hpp"
#include "cli/run/job.hpp"
#include "cli/run/program.hpp"
#include "holdfast/holdfast.hpp"

namespace holdfast::cli {
namespace {

Pulse& shared_pulse() {
  void* page =
      ::mmap(nullptr, sizeof(Pulse), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) refused("shared page");
  return *new (page) Pulse;
}

void refuse_other_store(const Chain& chain, const Location& location) {
  if (chain.empty() || chain.store() == identity_of(location.url)) return;
  throw bad_configuration("the run around this one locks in another store (" + chain.store() +
                          "); write the same --store, or unset HOLDFAST_HELD to lock in both");
}

void check_outer_lease(const Job& job, Token token) {
  const auto store = open(job.location.url).value();
  const auto holders = store.holders(job.options.name).value();
  const auto is_outer = [&](const Holder& holder) {
    return !holder.waits && holder.token == token;
  };
  if (std::ranges::none_of(holders, is_outer))
    throw Failure{
        exit_code::lost, "lost",
        "the run around this one has lost '" + job.options.name + "'; nothing was started"};
}

// Inside a run of the same name, the command runs under the outer lease and in the outer group,
// after the store has confirmed that the lease is current.
int run_inside(const Job& job, const Chain::Entry& outer) {
  if (!covers(outer.side, job.options))
    throw bad_configuration("'" + job.options.name + "' is held by the run around this one as " +
                            outer.side + "; asking for " + side_of(job.options) +
                            " would wait for itself");
  check_outer_lease(job, outer.token);
  tell_acquired(job, outer.token);
  Environment environment(job, outer.token, job.chain);
  exec_program(job, environment.get());
}

}  // namespace

int run(const Options& options, std::span<char*> all_arguments) {
  auto location = locate(options);
  auto chain = Chain::from_environment();
  refuse_other_store(chain, location);
  // The command must not hold it open, because its reader waits for the end of file.
  if (options.status_descriptor > STDERR_FILENO)
    ::fcntl(options.status_descriptor, F_SETFD, FD_CLOEXEC);
  Job job{options,
          std::move(location),
          std::move(chain),
          find_program(options.command[0]),
          options.command,
          Timing(options.ttl),
          shared_pulse(),
          inherited_descriptors(),
          {},
          false,
          ::getpgrp()};
  if (const auto* outer = job.chain.find(options.name)) return run_inside(job, *outer);
  check_kill_tree(job);

  struct sigaction action {};
  ::sigaction(SIGCHLD, nullptr, &action);
  job.children_ignored = action.sa_handler == SIG_IGN;
  if (job.children_ignored) ::signal(SIGCHLD, SIG_DFL);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &job.user_signals);
  return supervise(job, all_arguments);
}

}  // namespace holdfast::cli
