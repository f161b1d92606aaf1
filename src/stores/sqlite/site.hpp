// stores/sqlite/site.hpp: the place of a store's files, made and found safe.
//
//   FILE            the database           FILE-live       who lives (live.hpp)
//   FILE-wal -shm   SQLite's own           FILE-sock/      where messages are sent (post.hpp)
//
// Nothing is followed, truncated or changed that is a symbolic link, another user's, or open to
// changes by others; nor does a store work on a file system that several machines share.
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

// What lies there now, itself and not what it may point to.
std::optional<Identity> identify(const std::string& path) noexcept;

class Site {
 public:
  // Makes the folders and the file if they are missing (0700, 0600). Throws Trouble.
  explicit Site(const std::string& path);

  // Again after SQLite has opened its files: somebody may have been quicker than the first look.
  void check_companions() const;

  const std::string& path() const noexcept { return path_; }  // the real folder, no links in it
  const std::string& file_system() const noexcept { return file_system_; }

  // Calls on FILE + suffix, by the folder that was checked.
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
