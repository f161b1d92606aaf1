// The only place that prints. Nothing is buffered.
#pragma once

#include <string_view>

#include "cli/failure.hpp"

namespace holdfast::cli {

void print(std::string_view text);  // to stdout, as it is; throws Failure if it cannot be written

// Waits for so long. As soon as nobody reads stdout any more it does what writing there would do:
// ends by SIGPIPE, or throws Failure.
void rest_while_read(Millis pause);
bool is_read() noexcept;

// For a line that must not hold up who writes it: dropped if its reader leaves no room for 50 ms.
void write_briefly(int descriptor, std::string_view line) noexcept;

// One line on stderr, escaped: "holdfast: …". Written briefly.
void complain(std::string_view text);
void complain(const Failure& failure, bool json);

// The same at a terminal, where it stands in place of the status before; empty: there is none.
void show_status(std::string_view text);

bool is_terminal(int descriptor) noexcept;

}  // namespace holdfast::cli
