#include "stores/common/closed_on_exec.hpp"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace holdfast::stores {
namespace {

int open_socket(int domain, int type, int protocol) {
  return ::socket(domain, type | SOCK_CLOEXEC, protocol);
}
int open_pipe(int* ends) { return ::pipe2(ends, O_CLOEXEC); }
int open_file(const char* path, int flags, mode_t mode) {
  return ::open(path, flags | O_CLOEXEC, mode);
}

struct Import {
  std::string_view name;
  std::uintptr_t ours;
};
const std::array<Import, 4> imports{{{"socket", reinterpret_cast<std::uintptr_t>(&open_socket)},
                                     {"pipe", reinterpret_cast<std::uintptr_t>(&open_pipe)},
                                     {"open", reinterpret_cast<std::uintptr_t>(&open_file)},
                                     {"open64", reinterpret_cast<std::uintptr_t>(&open_file)}}};

// A library as the loader has mapped it.
class Library {
 public:
  explicit Library(const dl_phdr_info& info)
      : base_(info.dlpi_addr),
        headers_(reinterpret_cast<const char*>(info.dlpi_phdr)),
        page_(static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE))) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const auto& segment = info.dlpi_phdr[i];
      if (segment.p_type == PT_DYNAMIC) read(at<const ElfW(Dyn)>(base_ + segment.p_vaddr));
      if (segment.p_type != PT_GNU_RELRO) continue;
      sealed_from_ = page_of(base_ + segment.p_vaddr);
      sealed_to_ = page_of(base_ + segment.p_vaddr + segment.p_memsz);
    }
  }

  bool exchange_imports() const {
    bool any = false;
    for (const Table& table : {calls_, others_})
      for (std::size_t entry = 0; entry < table.size; entry += entry_size_)
        any |= exchange(*at<const ElfW(Rel)>(table.at + entry));  // Rela begins with a Rel
    return any;
  }

 private:
  struct Table {
    std::uintptr_t at = 0;
    std::size_t size = 0;
  };

  template <class T>
  T* at(std::uintptr_t address) const {
    const auto away = address - reinterpret_cast<std::uintptr_t>(headers_);
    return reinterpret_cast<T*>(const_cast<char*>(headers_) + away);
  }
  std::uintptr_t page_of(std::uintptr_t address) const { return address / page_ * page_; }

  void read(const ElfW(Dyn) * entry) {
    for (; entry->d_tag != DT_NULL; ++entry) {
      const std::uintptr_t value = entry->d_un.d_val;
      const auto address = value < base_ ? base_ + value : value;  // some loaders do not add base_
      switch (entry->d_tag) {
        case DT_STRTAB: names_ = at<const char>(address); break;
        case DT_SYMTAB: symbols_ = at<const ElfW(Sym)>(address); break;
        case DT_JMPREL: calls_.at = address; break;
        case DT_PLTRELSZ: calls_.size = value; break;
        case DT_RELA:
        case DT_REL: others_.at = address; break;
        case DT_RELASZ:
        case DT_RELSZ: others_.size = value; break;
        case DT_RELAENT:
        case DT_RELENT: entry_size_ = value; break;
        default: break;
      }
    }
  }

  bool exchange(const ElfW(Rel) & relocation) const {
    const auto symbol = relocation.r_info >> (sizeof relocation.r_info == 8 ? 32U : 8U);
    const std::string_view name = names_ + symbols_[symbol].st_name;
    for (const Import& import : imports)
      if (import.name == name) return write(base_ + relocation.r_offset, import.ours);
    return false;
  }

  // Another thread may call through this entry meanwhile: it finds their function or ours.
  bool write(std::uintptr_t slot, std::uintptr_t value) const {
    const bool sealed = slot >= sealed_from_ && slot < sealed_to_;
    char* const page = sealed ? at<char>(page_of(slot)) : nullptr;
    if (sealed && ::mprotect(page, page_, PROT_READ | PROT_WRITE) != 0) return false;
    std::atomic_ref(*at<std::uintptr_t>(slot)).store(value, std::memory_order_release);
    if (sealed) ::mprotect(page, page_, PROT_READ);
    return true;
  }

  const std::uintptr_t base_;
  const char* const headers_;  // some address inside it, to count from
  const std::uintptr_t page_;
  std::uintptr_t sealed_from_ = 0, sealed_to_ = 0;  // made read-only by the loader
  const char* names_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  Table calls_, others_;
  std::size_t entry_size_ = sizeof(ElfW(Rela));
};

struct Search {
  std::string_view library;
  bool found = false;
};

int look_at(dl_phdr_info* info, std::size_t, void* search) {
  auto& wanted = *static_cast<Search*>(search);
  std::string_view file = info->dlpi_name;
  file.remove_prefix(file.rfind('/') + 1);
  if (file.starts_with(wanted.library)) wanted.found |= Library(*info).exchange_imports();
  return 0;
}

}  // namespace

bool open_closed_on_exec(std::string_view library) noexcept {
  Search search{library};
  ::dl_iterate_phdr(look_at, &search);
  return search.found;
}

}  // namespace holdfast::stores
