#include "support/lender.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <list>
#include <map>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "support/process.hpp"
#include "support/sockets.hpp"

namespace holdfast::support {
namespace {

// They talk in messages: "lend ROW" and "restart", answered by "ok TEXT" or "no TEXT". A loan ends
// with its connection.
constexpr auto lend_word = "lend ", restart_word = "restart", ok_word = "ok ", no_word = "no ";
constexpr Millis linger{15'000};
constexpr std::size_t longest_message = 1 << 14;

std::string lender_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "server_lender";
}

// One lender for each build of it: after a change nobody talks to an old one.
sockaddr_un address(socklen_t& size) {
  struct stat about {};
  if (stat(lender_program().c_str(), &about) != 0)
    throw std::system_error(errno, std::generic_category(), lender_program());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto name = "holdfast-lender-" + std::to_string(about.st_dev) + "-" +
                    std::to_string(about.st_ino) + "-" + std::to_string(about.st_mtim.tv_sec) +
                    "-" + std::to_string(about.st_mtim.tv_nsec) + "-" + std::to_string(getuid());
  name.copy(address.sun_path + 1,
            sizeof address.sun_path - 1);  // Behind a zero: not in any folder.
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Descriptor new_socket() { return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

bool send_message(const Descriptor& socket, const std::string& text) {
  return send(socket.get(), text.data(), std::min(text.size(), longest_message), MSG_NOSIGNAL) > 0;
}

std::string receive_message(const Descriptor& socket) {  // empty: the other side is gone
  std::string text(longest_message, '\0');
  const auto size = recv(socket.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

class Loan : public Site {
 public:
  Loan(Descriptor lender, std::string url) : lender_(std::move(lender)), url_(std::move(url)) {}
  std::string url() const override { return url_; }
  void restart() override {
    send_message(lender_, restart_word);
    if (const auto answer = receive_message(lender_); !answer.starts_with(ok_word))
      throw std::runtime_error("the lender could not restart it: " + answer);
  }

 private:
  Descriptor lender_;
  std::string url_;
};

Descriptor knock() {
  auto door = new_socket();
  const timeval bound{std::chrono::floor<std::chrono::seconds>(patient).count(), 0};
  setsockopt(door.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  socklen_t size = 0;
  const auto at = address(size);
  if (connect(door.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0) return Descriptor();
  return door;
}

// All that it has, on loan or not.
class Lender {
 public:
  void serve(const Descriptor& door) {
    for (;;) {
      std::vector<pollfd> polled = {{door.get(), POLLIN, 0}};
      for (const auto& tenant : tenants_) polled.push_back({tenant.socket.get(), POLLIN, 0});
      const auto bound = tenants_.empty() ? static_cast<int>(linger.count()) : -1;
      if (poll(polled.data(), polled.size(), bound) == 0) return;
      auto at = polled.begin();
      const bool knocked = at++->revents != 0;
      for (auto tenant = tenants_.begin(); tenant != tenants_.end();) {
        const auto here = tenant++;
        if (at++->revents != 0 && !obey(*here)) tenants_.erase(here);
      }
      if (knocked)
        tenants_.push_back({Descriptor(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC))});
    }
  }

 private:
  struct Tenant {
    Descriptor socket;
    std::string row{};
    std::unique_ptr<Site> site{};
  };

  bool obey(Tenant& tenant) {
    const auto message = receive_message(tenant.socket);
    try {
      if (message.starts_with(lend_word)) {
        tenant.row = message.substr(std::strlen(lend_word));
        tenant.site = take(tenant.row);
        return send_message(tenant.socket, ok_word + tenant.site->url());
      }
      if (message == restart_word && tenant.site) {
        tenant.site->restart();
        return send_message(tenant.socket, ok_word);
      }
    } catch (const std::exception& error) {
      tenant.site.reset();
      return send_message(tenant.socket, std::string(no_word) + error.what());
    }
    if (tenant.site) idle_.emplace(tenant.row, std::move(tenant.site));
    return false;
  }

  std::unique_ptr<Site> take(const std::string& name) {
    while (auto known = idle_.extract(name)) {
      try {
        known.mapped()->clear();
        return std::move(known.mapped());
      } catch (const std::exception&) {
        continue;  // Not what it was: whoever had it before has broken it. It ends here.
      }
    }
    const auto row = std::ranges::find(all_store_cases(), name, &StoreCase::name);
    if (row == all_store_cases().end()) throw std::runtime_error("no row has the name " + name);
    return row->site();
  }

  std::list<Tenant> tenants_;
  std::multimap<std::string, std::unique_ptr<Site>> idle_;
};

}  // namespace

std::unique_ptr<Site> borrow(const StoreCase& row) {
  for (int tries = 0; tries < 10; ++tries) {
    auto lender = knock();
    if (!lender) {
      Process(std::vector{lender_program()}).wait();  // It goes on behind, once its door is open.
      continue;
    }
    if (!send_message(lender, lend_word + row.name)) continue;
    const auto answer = receive_message(lender);
    if (answer.starts_with(ok_word))
      return std::make_unique<Loan>(std::move(lender), answer.substr(std::strlen(ok_word)));
    if (!answer.empty()) throw std::runtime_error("nothing to lend: " + answer);
    // It was about to end; the next one will have time for us.
  }
  throw std::runtime_error("the lender does not answer: " + lender_program());
}

void lend() {
  // Whoever started us would wait for the end of what we have from them.
  close_range(STDERR_FILENO + 1, ~0U, 0);
  const auto door = new_socket();
  socklen_t size = 0;
  const auto at = address(size);
  if (bind(door.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0)
    return;  // One is enough.
  if (listen(door.get(), SOMAXCONN) != 0 || daemon(0, 0) != 0) return;
  Lender().serve(door);
}

}  // namespace holdfast::support
