// stores/sqlite/trouble.hpp: the exceptions of this store. None leaves it: each becomes the answer
// to the requests that it hit.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "holdfast/backend.hpp"

namespace holdfast::stores::sqlite {

// We refuse, and `problem` says why.
struct Trouble {
  Problem problem;
};

// SQLite refused; `explain` turns it into words.
struct SqlFailure {
  int code = 0;          // extended
  int system_error = 0;  // the errno behind it, or 0
  bool at_commit = false;

  bool is_busy() const noexcept;
  // The commit is in the log, but maybe not on the disk: after a crash it may be there or not.
  bool may_be_committed() const noexcept;
};

[[noreturn]] inline void refuse(Errc errc, std::string_view reason, std::string text) {
  throw Trouble{{errc, std::string(reason), std::move(text)}};
}

// "cannot create …: no space left on device; …", with the Errc that fits the errno.
[[noreturn]] void refuse_errno(int error, std::string_view reason, std::string_view doing,
                               const std::string& path);

Problem explain(const SqlFailure& failure, const std::string& path);

}  // namespace holdfast::stores::sqlite
