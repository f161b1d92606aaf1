// The leader dies while four processes want one lock all the time (S25): no two are inside
// together, tokens rise, and every process goes on by itself.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "faults/consensus/keeper.hpp"
#include "support/files.hpp"
#include "support/journal.hpp"
#include "support/peer.hpp"
#include "support/results.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

class Leader : public testing::TestWithParam<KeeperCase> {
 protected:
  std::unique_ptr<Keeper> keeper = GetParam().make();
  TempFolder folder;
  const Journal journal{folder.path()};

  long visits_of(int who) const {
    return std::ranges::count(journal.lines(), who, &Journal::Line::who);
  }
};

TEST_P(Leader, IsKilledUnderContention) {
  constexpr int processes = 4;
  std::vector<std::unique_ptr<Peer>> peers;
  for (int who = 0; who < processes; ++who) {
    peers.push_back(std::make_unique<Peer>(keeper->url(20s)));
    peers.back()->send("toil name " + folder.path().string() + " " + std::to_string(who));
  }
  const auto all_go_on = [&] {
    std::vector<long> before;
    for (int who = 0; who < processes; ++who) before.push_back(visits_of(who));
    return eventually([&] {
      for (int who = 0; who < processes; ++who)
        if (visits_of(who) == before[static_cast<std::size_t>(who)]) return false;
      return true;
    });
  };
  ASSERT_TRUE(all_go_on());
  for (int deaths = 0; deaths < 2; ++deaths) {
    ASSERT_TRUE(eventually([&] { return keeper->left_of("name").size() >= 3; }))
        << "too few want it";
    const auto reign = keeper->reign();
    keeper->kill_leader();
    EXPECT_GT(keeper->reign(), reign) << "it was not the leader that died";
    EXPECT_TRUE(all_go_on());
    keeper->start_killed();
    EXPECT_TRUE(all_go_on());
  }
  std::ofstream(folder.path() / "enough") << "\n";
  for (auto& peer : peers) {
    std::istringstream counts(peer->read());
    int intruders = -1, losses = -1, troubles = -1;
    counts >> intruders >> losses >> troubles;
    EXPECT_EQ(intruders, 0);
    EXPECT_EQ(troubles, 0) << "they wait for as long as it takes";
    RecordProperty("losses", losses);
  }
  const auto lines = journal.lines();
  const auto not_later = [](const auto& one, const auto& next) { return next.token <= one.token; };
  EXPECT_EQ(std::ranges::adjacent_find(lines, not_later), lines.end()) << "a token went back";
}

HOLDFAST_ON_EVERY_KEEPER(Leader);

}  // namespace
}  // namespace holdfast
