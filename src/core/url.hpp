// Store URLs: scheme:path?options, scheme://user:password@host:port,host:port/path?options.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/backend.hpp"

namespace holdfast::core {

// True, or a problem that says what is wrong and what to write instead; it never quotes a password.
bool parse_url(std::string_view text, Url& url, Problem& problem);

// The same URL for people: the password, and options that sound like one, as ***.
std::string shown(const Url& url);

}  // namespace holdfast::core
