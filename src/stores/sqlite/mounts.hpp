// stores/sqlite/mounts.hpp: which kind of file system a file is on.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::stores::sqlite {

// "ext4", "nfs4", "fuse.sshfs"; "?" if unknown.
std::string file_system_of(int fd);

// Shared between kernels, so its locks and boot clocks are not those of one machine.
bool is_network(std::string_view file_system) noexcept;

// Loses its files in a power loss.
bool is_volatile(std::string_view file_system) noexcept;

// The type of the mount with this id in the text of /proc/self/mountinfo; "?" if it is not there.
std::string_view mount_type(std::string_view mountinfo, std::string_view mount_id) noexcept;

}  // namespace holdfast::stores::sqlite
