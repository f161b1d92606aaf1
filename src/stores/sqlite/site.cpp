#include "stores/sqlite/site.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "core/text.hpp"
#include "stores/sqlite/mounts.hpp"
#include "stores/sqlite/trouble.hpp"

namespace holdfast::stores::sqlite {
namespace {

constexpr mode_t by_others = S_IWGRP | S_IWOTH;
constexpr mode_t to_others = S_IRWXG | S_IRWXO;

bool exists(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0;
}

void make_folders(const std::string& folder, const std::string& path) {
  if (exists(folder)) return;
  for (std::size_t at = folder.find('/', 1);; at = folder.find('/', at + 1)) {
    const std::string part = folder.substr(0, at);
    if (!exists(part) && mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      refuse_errno(errno, "cannot_create", "create the folder of", path);
    if (at == std::string::npos) return;
  }
}

std::string real_path(const std::string& folder) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(folder.c_str(), nullptr),
                                                         &std::free);
  if (!real) refuse_errno(errno, "cannot_open", "open", folder);
  return real.get();
}

}  // namespace

Site::Site(const std::string& path) {
  const auto slash = path.rfind('/');
  base_ = path.substr(slash + 1);
  if (base_.empty() || base_ == "." || base_ == "..")
    refuse(Errc::invalid, "url", core::escaped(path) + " is a folder; name a file in it");
  const std::string folder = slash == 0 ? "/" : path.substr(0, slash);
  make_folders(folder, path);
  const std::string real = real_path(folder);
  path_ = (real == "/" ? "" : real) + "/" + base_;
  folder_ = Descriptor(::open(real.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) refuse_errno(errno, "cannot_open", "open", real);
  check_folder();
  if (!check("", S_IFREG, by_others)) create_file();
  check_companions();
}

void Site::check_folder() {
  struct stat about {};
  if (fstat(folder_.get(), &about) != 0)
    refuse_errno(errno, "cannot_open", "open the folder of", path_);
  const std::string folder = core::escaped(path_.substr(0, path_.rfind('/') + 1));
  if (about.st_uid != geteuid() && about.st_uid != 0)
    refuse(Errc::denied, "foreign_owner",
           folder + " belongs to another user; use a folder of your own");
  if ((about.st_mode & by_others) != 0 && (about.st_mode & S_ISVTX) == 0)
    refuse(Errc::denied, "writable_by_others",
           "others may write to " + folder + "; chmod go-w it, or use another folder");
  file_system_ = file_system_of(folder_.get());
  if (is_network(file_system_))
    refuse(Errc::unsupported, "network_file_system",
           folder + " is on " + file_system_ +
               ", which machines share; use a local disk, or a store with a server");
}

void Site::create_file() const {
  // Opens it only while it is new, because closing it later would drop the locks of our own
  // connections.
  if (open("", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) return;
  if (errno != EEXIST) refuse_errno(errno, "cannot_create", "create", path_);
  check("", S_IFREG, by_others);
}

void Site::check_companions() const {
  const bool logged = check("-wal", S_IFREG, by_others);
  check("-shm", S_IFREG, by_others);
  const bool lived = check("-live", S_IFREG, by_others);
  check("-sock", S_IFDIR, to_others);
  struct stat about {};
  if ((logged || lived) &&
      fstatat(folder_.get(), base_.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && about.st_size == 0)
    refuse(Errc::corrupt, "truncated",
           core::escaped(path_) +
               " was emptied; restore it, or remove it with its -wal, -shm, -live and -sock");
}

bool Site::check(std::string_view suffix, mode_t type, mode_t forbidden) const {
  const std::string entry = base_ + std::string(suffix);
  const std::string shown = core::escaped(path_ + std::string(suffix));
  struct stat about {};
  if (fstatat(folder_.get(), entry.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    refuse_errno(errno, "cannot_open", "look at", path_ + std::string(suffix));
  }
  if (S_ISLNK(about.st_mode))
    refuse(Errc::invalid, "symlink", shown + " is a symbolic link; name the file itself");
  if ((about.st_mode & S_IFMT) != type)
    refuse(Errc::invalid, "not_a_file",
           shown + (type == S_IFREG ? " is not a plain file" : " is not a folder"));
  if (about.st_uid != geteuid())
    refuse(Errc::denied, "foreign_owner",
           shown + " belongs to another user; use a file of your own");
  if ((about.st_mode & forbidden) != 0)
    refuse(Errc::denied, "writable_by_others",
           "others have rights on " + shown + "; chmod go-rwx it");
  return true;
}

Descriptor Site::open(std::string_view suffix, int flags, mode_t mode) const {
  return Descriptor(openat(folder_.get(), (base_ + std::string(suffix)).c_str(), flags, mode));
}

int Site::make_folder(std::string_view suffix, mode_t mode) const {
  return mkdirat(folder_.get(), (base_ + std::string(suffix)).c_str(), mode);
}

std::optional<Identity> identify(const std::string& path) noexcept {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0) return std::nullopt;
  return Identity{about.st_dev, about.st_ino};
}

}  // namespace holdfast::stores::sqlite
