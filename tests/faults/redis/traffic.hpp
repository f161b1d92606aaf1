// tests/faults/redis/traffic.hpp: the commands that others send to a server, as MONITOR shows them.
//
//   Traffic traffic(server);
//   …
//   EXPECT_EQ(traffic.commands(), 2);
#pragma once

#include <string>
#include <vector>

#include "support/redis/server.hpp"

namespace holdfast::support {

class Traffic {
 public:
  // The commands of `looker` do not count.
  Traffic(const RedisServer& server, RedisClient& looker)
      : looker_(looker), monitor_(server.client()) {
    ours_ = address_of(looker_.command({"CLIENT", "INFO"}).text);
    monitor_.command({"MONITOR"});
  }

  // Since the last call, without those inside scripts.
  const std::vector<std::string>& commands() {
    const std::string end = "the end " + std::to_string(++ends_);
    looker_.command({"ECHO", end});
    commands_.clear();
    for (;;) {
      const std::string line = monitor_.next().text;  // 17.42 [0 127.0.0.1:60866] "echo" "the end"
      if (line.find('"' + end + '"') != std::string::npos) return commands_;
      const bool counts = line.find(" lua] ") == std::string::npos &&
                          line.find(' ' + ours_ + ']') == std::string::npos;
      if (counts) commands_.push_back(line.substr(line.find('"')));
    }
  }

 private:
  static std::string address_of(const std::string& info) {
    const auto begin = info.find(" addr=") + 6;
    return info.substr(begin, info.find(' ', begin) - begin);
  }

  RedisClient& looker_;
  RedisClient monitor_;
  std::string ours_;
  std::vector<std::string> commands_;
  int ends_ = 0;
};

}  // namespace holdfast::support
