// stores/common/closed_on_exec.hpp: programs that this process starts inherit no descriptor that a
// client library opened.
//
// Some libraries open a connection without SOCK_CLOEXEC, or set that flag a moment later. If any
// thread starts a program in between, the program inherits the connection and can use it once the
// library has logged in. If we set the flag afterwards, such a moment would remain. So we redirect
// the library's calls of socket() to our function, which opens with the flag set.
#pragma once

#include <string_view>

namespace holdfast::stores {

// Affects what the library opens from now on with socket(), pipe() and open(). `library` is the
// start of its file name ("libzookeeper_mt.so"); it must be loaded. False if it imports none of
// these functions.
bool open_closed_on_exec(std::string_view library) noexcept;

}  // namespace holdfast::stores
