#include "support/lender.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "support/process.hpp"
#include "support/sockets.hpp"

namespace holdfast::support {
namespace {

// The messages are "lend ROW", "restart", "end NAME", "left NAME", "clients" and "return"; the
// answers are "ok TEXT" or "no TEXT". A loan also ends with its connection.
constexpr auto lend_word = "lend ", restart_word = "restart", end_word = "end ";
constexpr auto left_word = "left ", clients_word = "clients";
constexpr auto return_word = "return", ok_word = "ok ", no_word = "no ";
constexpr Millis linger{15'000};
constexpr int most_loans = 64;
constexpr std::size_t longest_message = 1 << 14;

std::string lender_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "server_lender";
}

// One lender for each build, so that nobody talks to an old one after a change.
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
            sizeof address.sun_path - 1);  // Behind a zero byte, so not in any folder.
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Descriptor new_socket() { return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

bool send_message(const Descriptor& socket, const std::string& text) {
  return send(socket.get(), text.data(), std::min(text.size(), longest_message), MSG_NOSIGNAL) > 0;
}

std::string receive_message(const Descriptor& socket) {  // empty: the other side is gone
  std::string text(longest_message, '\0');
  const auto size = receive(socket, text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + '\n';
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

class Loan : public Site {
 public:
  Loan(Descriptor lender, std::string url) : lender_(std::move(lender)), url_(std::move(url)) {}
  // Waits for the answer, because without it the next loan would not find this site yet.
  ~Loan() override {
    send_message(lender_, return_word);
    receive_message(lender_);
  }
  std::string url() const override { return url_; }
  void restart() override { order(restart_word); }
  void end_holder(const std::string& name) override { order(end_word + name); }
  std::vector<std::string> left_of(const std::string& name) override {
    return lines_of(order(left_word + name));
  }
  std::vector<std::string> left_of_clients() override { return lines_of(order(clients_word)); }

 private:
  std::string order(const std::string& what) {
    send_message(lender_, what);
    const auto answer = receive_message(lender_);
    if (!answer.starts_with(ok_word))
      throw std::runtime_error("the lender could not do it: " + what + ": " + answer);
    return answer.substr(std::strlen(ok_word));
  }
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

// All sites, on loan or not. Each loan has its own thread, so that nobody waits while another's
// server starts. The threads never end, because a server ends with the thread that started it.
class Lender {
 public:
  // Returns when nothing has been on loan for a while; the threads still exist then.
  void serve(const Descriptor& door) {
    for (int count = 0; count < most_loans; ++count)
      std::thread([this, &door] {
        for (;;) serve_one(door);
      }).detach();
    std::unique_lock lock(mutex_);
    auto seen = loans_ever_;
    for (;;) {
      changed_.wait_for(lock, linger);
      if (loans_ == 0 && loans_ever_ == seen) break;
      seen = loans_ever_;
    }
    idle_.clear();
    lock.release();  // Nobody gets anything from now on.
  }

 private:
  void serve_one(const Descriptor& door) {
    const Descriptor tenant(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC));
    {
      const std::lock_guard guard(mutex_);
      ++loans_;
      ++loans_ever_;
    }
    std::string row;
    std::unique_ptr<Site> site;
    while (obey(tenant, row, site)) {
    }
    const std::lock_guard guard(mutex_);
    --loans_;
  }

  // False: the tenant wants nothing more.
  bool obey(const Descriptor& tenant, std::string& row, std::unique_ptr<Site>& site) {
    const auto message = receive_message(tenant);
    try {
      if (message.starts_with(lend_word)) {
        row = message.substr(std::strlen(lend_word));
        site = take(row);
        return send_message(tenant, ok_word + site->url());
      }
      if (message == restart_word && site) {
        site->restart();
        return send_message(tenant, ok_word);
      }
      if (message.starts_with(end_word) && site) {
        site->end_holder(message.substr(std::strlen(end_word)));
        return send_message(tenant, ok_word);
      }
      if (message.starts_with(left_word) && site) {
        const auto left = site->left_of(message.substr(std::strlen(left_word)));
        return send_message(tenant, ok_word + joined(left));
      }
      if (message == clients_word && site)
        return send_message(tenant, ok_word + joined(site->left_of_clients()));
    } catch (const std::exception& error) {
      return send_message(tenant, std::string(no_word) + error.what());
    }
    if (site) {
      const std::lock_guard guard(mutex_);
      idle_.emplace(row, std::move(site));
    }
    if (message == return_word) send_message(tenant, ok_word);
    return false;
  }

  std::unique_ptr<Site> take(const std::string& name) {
    while (auto known = idle(name)) {
      try {
        known->clear();
        return known;
      } catch (const std::exception&) {
        continue;  // An earlier tenant changed it for good, so it ends here.
      }
    }
    const auto row = std::ranges::find(all_store_cases(), name, &StoreCase::name);
    if (row == all_store_cases().end()) throw std::runtime_error("no row has the name " + name);
    return row->site();
  }

  std::unique_ptr<Site> idle(const std::string& name) {
    const std::lock_guard guard(mutex_);
    auto known = idle_.extract(name);
    return known ? std::move(known.mapped()) : nullptr;
  }

  std::mutex mutex_;
  std::condition_variable changed_;  // never notified: a sleep without the mutex
  int loans_ = 0;
  long loans_ever_ = 0;
  std::multimap<std::string, std::unique_ptr<Site>> idle_;
};

}  // namespace

std::unique_ptr<Site> borrow(const StoreCase& row) {
  for (int tries = 0; tries < 10; ++tries) {
    auto lender = knock();
    if (!lender) {
      Process(std::vector{lender_program()}).wait();  // Returns when its daemon listens.
      continue;
    }
    if (!send_message(lender, lend_word + row.name)) continue;
    const auto answer = receive_message(lender);
    if (answer.starts_with(ok_word))
      return std::make_unique<Loan>(std::move(lender), answer.substr(std::strlen(ok_word)));
    if (!answer.empty()) throw std::runtime_error("nothing to lend: " + answer);
    // That lender was about to end; the next one will have time for us.
  }
  throw std::runtime_error("the lender does not answer: " + lender_program());
}

void lend() {
  // Our parent would wait until the descriptors that we inherited are closed.
  close_range(STDERR_FILENO + 1, ~0U, 0);
  const auto door = new_socket();
  socklen_t size = 0;
  const auto at = address(size);
  if (bind(door.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0)
    return;  // One is enough.
  if (listen(door.get(), SOMAXCONN) != 0 || daemon(0, 0) != 0) return;
  static Lender lender;  // static, because its threads use it to the very end
  lender.serve(door);
  std::_Exit(0);
}

}  // namespace holdfast::support
