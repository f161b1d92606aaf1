// stores/common/closed_on_exec.hpp: what a client library opens is not inherited by programs that
// this process starts.
//
// Some libraries open a connection without SOCK_CLOEXEC, or mark it a moment later. A program that
// any thread starts in between inherits it, and with it all that the library says later: it could
// use the connection once it is logged in. A mark that we set afterwards would leave such a moment,
// too. So it is opened with the mark: where the library calls socket(), it calls ours.
#pragma once

#include <string_view>

namespace holdfast::stores {

// For what that library opens from now on by socket(), pipe() and open(). `library` is how its file
// name begins ("libzookeeper_mt.so"); it must be loaded. False if it imports none of these.
bool open_closed_on_exec(std::string_view library) noexcept;

}  // namespace holdfast::stores
