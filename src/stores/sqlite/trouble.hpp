// stores/sqlite/trouble.hpp: how the parts of this store report failure to its edge. Nothing of it
// leaves the store: there every trouble becomes the answer of the requests it hit.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "holdfast/backend.hpp"

namespace holdfast::stores::sqlite {

// We refuse, and this is what to tell.
struct Trouble {
  Problem problem;
};

// SQLite refused; `explain` turns it into words.
struct SqlFailure {
  int code = 0;          // extended
  int system_error = 0;  // errno, where one lies behind it
  bool at_commit = false;

  bool is_busy() const noexcept;
  // The commit is in the log, but the log may not be on the disk; a crash decides.
  bool may_be_committed() const noexcept;
};

[[noreturn]] inline void refuse(Errc errc, std::string_view reason, std::string text) {
  throw Trouble{{errc, std::string(reason), std::move(text)}};
}

// "cannot create …: no space left on device; …", with the code that fits the errno.
[[noreturn]] void refuse_errno(int error, std::string_view reason, std::string_view doing,
                               const std::string& path);

Problem explain(const SqlFailure& failure, const std::string& path);

}  // namespace holdfast::stores::sqlite
