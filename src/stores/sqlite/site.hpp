// stores/sqlite/site.hpp: where a store's files are; creates them and checks that they are safe.
//
//   FILE            the database           FILE-live       which stores are alive (live.hpp)
//   FILE-wal -shm   SQLite's own           FILE-sock/      sockets for messages (post.hpp)
//
// The store does not follow, truncate or change a symbolic link, another user's file, or a file
// that others may change. It does not work on a file system that several machines share.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "stores/common/descriptor.hpp"

namespace holdfast::stores::sqlite {

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

// The file at `path` now; if that is a symbolic link, the link itself.
std::optional<Identity> identify(const std::string& path) noexcept;

class Site {
 public:
  // Creates the folders and the file if they are missing (0700, 0600). Throws Trouble.
  explicit Site(const std::string& path);

  // Called again after SQLite has opened its files, because somebody may have put others there
  // since the first check.
  void check_companions() const;

  const std::string& path() const noexcept { return path_; }  // the folder part has no links
  const std::string& file_system() const noexcept { return file_system_; }

  // openat() and mkdirat() on FILE + suffix, in the folder that was checked.
  Descriptor open(std::string_view suffix, int flags, mode_t mode = 0) const;
  int make_folder(std::string_view suffix, mode_t mode) const;

 private:
  void check_folder();
  void create_file() const;
  bool check(std::string_view suffix, mode_t type, mode_t forbidden) const;  // false: not there

  std::string path_;
  std::string base_;
  std::string file_system_;
  Descriptor folder_;
};

}  // namespace holdfast::stores::sqlite
