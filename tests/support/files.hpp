// tests/support/files.hpp: a folder that is deleted with its object, the text of files, and what
// /proc says about us.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace holdfast::support {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

std::string text_of(const std::filesystem::path& file);  // "" if there is none

// A number from /proc/PID/status: "Threads", or "VmRSS" in KiB.
long status_of(pid_t process, std::string_view field);
long own_status(std::string_view field);
long open_descriptors();

}  // namespace holdfast::support
