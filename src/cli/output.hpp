// The only place that prints. Nothing is buffered.
#pragma once

#include <string_view>

#include "cli/failure.hpp"

namespace holdfast::cli {

void print(std::string_view text);  // to stdout, unescaped; throws Failure if that fails

// Waits for `pause`. As soon as nobody reads stdout any more, it does what a write would do: it
// dies of SIGPIPE, or throws Failure.
void rest_while_read(Millis pause);
bool is_read() noexcept;

// For a line that must not hold up its writer: dropped if the reader makes no room within 50 ms.
void write_briefly(int descriptor, std::string_view line) noexcept;

// Writes one escaped line to stderr with write_briefly: "holdfast: …".
void complain(std::string_view text);
void complain(const Failure& failure, bool json);

// For a terminal: replaces the status shown before; an empty text clears it.
void show_status(std::string_view text);

bool is_terminal(int descriptor) noexcept;

}  // namespace holdfast::cli
