// The command `holdfast`, the library's first user: it includes only public headers.
#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <string_view>

#include "cli/failure.hpp"
#include "cli/inspect.hpp"
#include "cli/lab.hpp"
#include "cli/location.hpp"
#include "cli/manage.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/run/run.hpp"

namespace holdfast::cli {
namespace {

// Otherwise a store's file could become descriptor 2, and we would write messages into it.
// Read-only, so that writing fails as it does on a closed descriptor; exec closes it for the
// command.
void occupy_standard_descriptors() noexcept {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number)
    if (::fcntl(number, F_GETFD) == -1) ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void hide_password(const Options& options, std::span<char*> all_arguments) {
  if (!options.store || !has_password(*options.store)) return;
  conceal_password(all_arguments);
  complain(
      "a password in --store can be seen by others in the list of processes; give the URL in "
      "HOLDFAST_STORE");
}

void warn_of_no_checks(const Options& options) {
  if (options.verb == Verb::lab || options.verb == Verb::version || options.verb == Verb::help)
    return;
  if (is_insecure(locate(options).url))
    complain(
        "insecure=on: the store's certificate is not checked, so whoever answers may be another; "
        "write ca=FILE instead");
}

int perform(const Options& options, std::span<char*> all_arguments) {
  switch (options.verb) {
    case Verb::run: return run(options, all_arguments);
    case Verb::ls: return ls(options);
    case Verb::show: return show(options);
    case Verb::watch: return watch(options);
    case Verb::break_: return break_lock(options);
    case Verb::init: return init(options);
    case Verb::lab: return lab(options);
    case Verb::version: return version(options);
    case Verb::help: print(help_text(options.name)); return exit_code::ok;
  }
  return exit_code::internal;
}

int main(std::span<char*> all_arguments) {
  occupy_standard_descriptors();
  bool json = false;
  const auto fail = [&](const Failure& failure) {
    complain(failure, json);
    return failure.code;
  };
  try {
    const auto options = parse(all_arguments.subspan(all_arguments.empty() ? 0 : 1));
    json = options.json;
    hide_password(options, all_arguments);
    warn_of_no_checks(options);
    return perform(options, all_arguments);
  } catch (const Failure& failure) {
    return fail(failure);
  } catch (const Error& error) {
    return fail(failure_of(error));
  } catch (const std::exception& error) {
    return fail({exit_code::internal, "internal", error.what()});
  }
}

}  // namespace
}  // namespace holdfast::cli

int main(int count, char** arguments) {
  return holdfast::cli::main({arguments, static_cast<std::size_t>(count)});
}
