// The exit statuses are a contract with scripts; they follow sysexits.h where it fits.
#pragma once

#include <string>

#include "holdfast/result.hpp"

namespace holdfast::cli {

namespace exit_code {
inline constexpr int ok = 0;
inline constexpr int declined = 1;      // init --new asked, and the answer was not yes
inline constexpr int usage = 64;        // also a bad name or duration
inline constexpr int unavailable = 69;  // the store does not answer
inline constexpr int internal = 70;
inline constexpr int cannot_create = 73;  // the store's file
inline constexpr int output = 74;         // our own output cannot be written
inline constexpr int busy = 75;
inline constexpr int lost = 76;  // the command was stopped because its lease was lost
inline constexpr int denied = 77;
inline constexpr int configuration = 78;  // invalid, unsupported, corrupt
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
inline constexpr int by_signal = 128;  // plus the signal's number
}  // namespace exit_code

// Ends the program with one line on stderr and this exit status.
struct Failure {
  int code;
  std::string reason;  // a stable word for --json
  std::string text;    // what is wrong, and what to write instead
};

Failure bad_usage(std::string text);
Failure bad_configuration(std::string text);
Failure failure_of(const Error& error);

}  // namespace holdfast::cli
