// Store URLs: scheme:path?options, scheme://user:password@host:port,host:port/path?options.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/backend.hpp"

namespace holdfast::core {

// False: `problem` says what is wrong and what to write instead; it never quotes a password.
bool parse_url(std::string_view text, Url& url, Problem& problem);

// The URL for people to read: *** for the password and for options that sound like one.
std::string shown(const Url& url);

}  // namespace holdfast::core
