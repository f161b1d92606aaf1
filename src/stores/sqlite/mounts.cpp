#include "stores/sqlite/mounts.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace holdfast::stores::sqlite {
namespace {

constexpr std::array<std::string_view, 24> network{
    "9p",       "acfs",      "afs",   "beegfs", "ceph",  "cifs",   "coda",     "gfs",
    "gfs2",     "glusterfs", "gpfs",  "lustre", "ncpfs", "nfs",    "nfs4",     "ocfs2",
    "orangefs", "panfs",     "pvfs2", "smb3",   "smbfs", "vboxsf", "virtiofs", "vmhgfs"};

// Most FUSE file systems reach over a network; these do not.
constexpr std::array<std::string_view, 10> local_fuse{
    "fuse.bindfs",    "fuse.encfs", "fuse.exfat",    "fuse.ext2", "fuse.fuse-overlayfs",
    "fuse.gocryptfs", "fuse.lxcfs", "fuse.mergerfs", "fuse.ntfs", "fuse.ntfs-3g"};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Knows the common ones by their magic number, so that a start rarely walks through all mounts.
std::string_view well_known(int fd) {
  struct statfs about {};
  if (fstatfs(fd, &about) != 0) return {};
  switch (static_cast<unsigned long>(about.f_type)) {
    case EXT4_SUPER_MAGIC: return "ext4";
    case BTRFS_SUPER_MAGIC: return "btrfs";
    case XFS_SUPER_MAGIC: return "xfs";
    case F2FS_SUPER_MAGIC: return "f2fs";
    case TMPFS_MAGIC: return "tmpfs";
    case RAMFS_MAGIC: return "ramfs";
    case OVERLAYFS_SUPER_MAGIC: return "overlay";
    case NFS_SUPER_MAGIC: return "nfs";
    case CIFS_SUPER_MAGIC: return "cifs";
    case SMB2_SUPER_MAGIC: return "smb3";
    default: return {};
  }
}

}  // namespace

std::string_view mount_type(std::string_view mountinfo, std::string_view mount_id) noexcept {
  while (!mountinfo.empty()) {
    const auto line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(mountinfo.size(), line.size() + 1));
    if (!line.starts_with(mount_id) || line.size() <= mount_id.size() ||
        line[mount_id.size()] != ' ')
      continue;
    const auto separator = line.find(" - ");
    if (separator == std::string_view::npos) break;
    const auto type = line.substr(separator + 3);
    return type.substr(0, type.find(' '));
  }
  return "?";
}

std::string file_system_of(int fd) {
  if (const auto known = well_known(fd); !known.empty()) return std::string(known);
  const std::string about = text_of("/proc/self/fdinfo/" + std::to_string(fd));
  constexpr std::string_view label = "mnt_id:\t";
  const auto at = about.find(label);
  if (at == std::string::npos) return "?";
  const auto id = std::string_view(about).substr(at + label.size());
  return std::string(mount_type(text_of("/proc/self/mountinfo"), id.substr(0, id.find('\n'))));
}

bool is_network(std::string_view file_system) noexcept {
  if (file_system.starts_with("fuse."))
    return std::find(local_fuse.begin(), local_fuse.end(), file_system) == local_fuse.end();
  return std::find(network.begin(), network.end(), file_system) != network.end();
}

bool is_volatile(std::string_view file_system) noexcept {
  return file_system == "tmpfs" || file_system == "ramfs";
}

}  // namespace holdfast::stores::sqlite
