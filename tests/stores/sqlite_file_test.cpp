// Goal: whatever is wrong with the file, its folder or its disk, there is one clear answer,
// nothing is lost, and nothing that is not ours is touched.
// Method: each fault is real, in a folder of the test's own. Where root may do what is forbidden, a
// child does it as another user; disks are filled in a mount namespace of a child.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <fstream>
#include <thread>

#include "stores/sqlite/mounts.hpp"
#include "stores/sqlite_support.hpp"

namespace holdfast::stores::sqlite {
namespace {

using namespace testing_support;

constexpr uid_t nobody = 65534;

// File permissions do not stop root.
void become_nobody() { ASSERT_TRUE(geteuid() != 0 || setuid(nobody) == 0); }

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SqliteFile : public testing::Test {
 protected:
  static Problem problem_of(const std::string& file) {
    SqliteClient client(file);
    const Answer answer = client.ask("n", fresh_claim());
    EXPECT_EQ(answer.said, Said::no);
    EXPECT_EQ(answer.problem.text.find('\n'), std::string::npos);
    return answer.problem;
  }
  Folder folder;
  const std::string path = folder.file();
};

TEST_F(SqliteFile, SymbolicLinksAreRefusedAndTheirTargetsUntouched) {
  for (const std::string suffix : {"", "-wal", "-shm", "-live", "-sock"}) {
    SCOPED_TRACE(suffix);
    const std::string file = folder.file("link" + suffix + ".db");
    const std::string target = folder.file("target" + suffix);
    std::ofstream(target) << "precious";
    std::filesystem::create_symlink(target, file + suffix);
    const Problem problem = problem_of(file);
    EXPECT_EQ(problem.errc, Errc::invalid);
    EXPECT_EQ(problem.reason, "symlink");
    EXPECT_EQ(contents(target), "precious");
  }
  std::filesystem::create_symlink(folder.file("nowhere"), folder.file("dangling.db"));
  EXPECT_EQ(problem_of(folder.file("dangling.db")).reason, "symlink");
  EXPECT_FALSE(std::filesystem::exists(folder.file("nowhere")));
}

TEST_F(SqliteFile, ALinkPlantedWhileItIsOpenedNeverReachesItsTarget) {
  const std::string target = folder.file("target");
  std::ofstream(target) << "precious";
  std::atomic<bool> stop{false};
  std::jthread planter([&] {
    for (int round = 0; !stop; ++round) {
      const std::string at =
          path + std::array{"-wal", "-shm", "-live", ""}[static_cast<std::size_t>(round % 4)];
      unlink(at.c_str());
      EXPECT_TRUE(symlink(target.c_str(), at.c_str()) == 0 || errno == EEXIST);
    }
  });
  for (int round = 0; round < 300; ++round)
    SqliteClient(path).ask(Client::wanting("n", fresh_claim()), 5ms);
  stop = true;
  planter.join();
  EXPECT_EQ(contents(target), "precious");
}

TEST_F(SqliteFile, OthersMustNotBeAbleToWrite) {
  { std::ofstream file(path); }
  chmod(path.c_str(), 0620);
  EXPECT_EQ(problem_of(path).reason, "writable_by_others");
  chmod(path.c_str(), 0600);
  chmod(folder.path().c_str(), 0777);
  EXPECT_EQ(problem_of(path).reason, "writable_by_others");
  chmod(folder.path().c_str(), 01777);
  EXPECT_EQ(SqliteClient(path).init().said, Said::yes);
}

TEST_F(SqliteFile, AnotherUsersFileOrFolderIsRefused) {
  if (geteuid() != 0) {  // only root can give files away, but root owns some
    EXPECT_EQ(problem_of("/etc/passwd").reason, "foreign_owner");
    return;
  }
  { std::ofstream file(path); }
  chmod(path.c_str(), 0600);
  ASSERT_EQ(chown(path.c_str(), nobody, nobody), 0);
  EXPECT_EQ(problem_of(path).reason, "foreign_owner");
  unlink(path.c_str());
  ASSERT_EQ(chown(folder.path().c_str(), nobody, nobody), 0);
  const Problem problem = problem_of(path);
  EXPECT_EQ(problem.errc, Errc::denied);
  EXPECT_EQ(problem.reason, "foreign_owner");
}

TEST_F(SqliteFile, WithoutRightsItSaysWhatCannotBeMade) {
  chmod(folder.path().c_str(), 0755);
  std::filesystem::create_directory(folder.file("theirs"));
  chmod(folder.file("theirs").c_str(), 0555);
  Peer user([&](const auto&) {
    become_nobody();
    const Problem problem = problem_of(folder.file("theirs/locks.db"));
    EXPECT_EQ(problem.errc, Errc::denied);
    EXPECT_EQ(problem.reason, "cannot_create");
    EXPECT_NE(problem.text.find("theirs/locks.db"), std::string::npos);
    EXPECT_EQ(problem_of(folder.file("theirs/deeper/locks.db")).reason, "cannot_create");
  });
  EXPECT_EQ(user.finish(), 0);
}

TEST_F(SqliteFile, AReadOnlyFileOrFolderIsDeniedAndKept) {
  const std::string inner = folder.file("inner");
  std::filesystem::create_directory(inner);
  chmod(folder.path().c_str(), 0755);
  ASSERT_TRUE(geteuid() != 0 || chown(inner.c_str(), nobody, nobody) == 0);
  Peer user([&](const auto&) {
    become_nobody();
    { SqliteClient(inner + "/locks.db").init(); }
    for (const char* suffix : {"", "-wal", "-shm", "-live"})
      chmod((inner + "/locks.db" + suffix).c_str(), 0400);
    const std::string before = contents(inner + "/locks.db");
    EXPECT_EQ(problem_of(inner + "/locks.db").reason, "read_only");
    EXPECT_EQ(contents(inner + "/locks.db"), before);
  });
  EXPECT_EQ(user.finish(), 0);
}

TEST_F(SqliteFile, WhatIsNoDatabaseOfOursIsNotTouched) {
  const auto expect_untouched = [&](const std::string& bytes, const std::string& reason) {
    const std::string file = folder.file(reason);
    std::ofstream(file, std::ios::binary) << bytes;
    chmod(file.c_str(), 0600);
    const Problem problem = problem_of(file);
    EXPECT_EQ(problem.errc, Errc::corrupt);
    EXPECT_EQ(problem.reason, reason);
    EXPECT_NE(problem.text.find(file), std::string::npos);
    EXPECT_EQ(contents(file), bytes);
  };
  expect_untouched(std::string(5000, 'x'), "not_a_database");
  const std::string foreign = folder.file("foreign");
  sql(foreign, "CREATE TABLE theirs (x)");
  expect_untouched(contents(foreign), "foreign_database");
}

TEST_F(SqliteFile, DamageIsReported) {
  { SqliteClient(path).ask("n", fresh_claim()); }
  sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
  const std::string whole = contents(path);
  ASSERT_GT(whole.size(), 8192u);
  {
    SCOPED_TRACE("cut off");
    std::filesystem::resize_file(path, 4096 + 100);
    EXPECT_EQ(problem_of(path).errc, Errc::corrupt);
  }
  {
    SCOPED_TRACE("emptied");
    std::filesystem::resize_file(path, 0);
    EXPECT_EQ(problem_of(path).reason, "truncated");
    EXPECT_EQ(std::filesystem::file_size(path), 0u);
  }
  {
    SCOPED_TRACE("pages overwritten");
    std::string broken = whole;
    std::fill(broken.begin() + 4096, broken.end(), '\x5a');
    std::ofstream(path, std::ios::binary) << broken;
    EXPECT_EQ(problem_of(path).errc, Errc::corrupt);
  }
  {
    SCOPED_TRACE("a row that we did not write");
    std::ofstream(path, std::ios::binary) << whole;
    sql(path, "UPDATE claims SET id = zeroblob(10000000)");
    EXPECT_EQ(problem_of(path).reason, "damaged");
    SqliteClient client(path);
    EXPECT_EQ(client.list().problem.errc, Errc::corrupt);
    EXPECT_EQ(client.ask("other", fresh_claim()).said, Said::yes);
  }
}

TEST_F(SqliteFile, AReplacedFileIsLostAndNothingIsGrantedInIt) {
  for (const std::string suffix : {"", "-wal", "-shm", "-live"}) {
    SCOPED_TRACE(suffix);
    const std::string file = folder.file("replaced" + suffix + ".db");
    SqliteClient client(file);
    const ClaimId claim = fresh_claim();
    ASSERT_EQ(client.ask("n", claim).said, Said::yes);
    ASSERT_EQ(unlink((file + suffix).c_str()), 0);
    Answer renewed;
    EXPECT_TRUE(
        client.stay_until([&] { return (renewed = client.renew("n", claim)).said == Said::gone; }));
    EXPECT_EQ(renewed.problem.reason, "replaced");
    const Answer asked = client.ask("other", fresh_claim());
    EXPECT_EQ(asked.said, Said::no);
    EXPECT_EQ(asked.problem.errc, Errc::corrupt);
    EXPECT_EQ(client.list().problem.reason, "replaced");
    EXPECT_EQ(client.release("n", claim).said, Said::gone);
  }
}

TEST_F(SqliteFile, ANewLiveFileJudgesNobody) {
  Peer holder([&](const auto& line) {
    SqliteClient client(path);
    EXPECT_EQ(client.ask("n", fresh_claim()).said, Said::yes);
    line.say("held");
    line.hear();
  });
  ASSERT_EQ(holder.hear(), "held");
  unlink((path + "-live").c_str());
  SqliteClient client(path);
  EXPECT_EQ(client.ask("n", fresh_claim()).said, Said::no);  // it may be alive, so its ttl decides
  holder.say("end");
}

TEST_F(SqliteFile, AFullDiskRefusesAndLosesNothing) {
  Peer user([&](const auto&) {
    enter_namespace(CLONE_NEWNS);
    mount("none", "/", nullptr, MS_REC | MS_PRIVATE,
          nullptr);  // fails in a chroot, where / is no mount point; the umount cleans up
    ASSERT_EQ(mount("none", folder.path().c_str(), "tmpfs", 0, "size=400k,mode=700"), 0) << errno;
    SqliteClient client(path);
    const ClaimId held = fresh_claim();
    EXPECT_EQ(client.ask("held", held).said, Said::yes);
    const int filler = ::open(folder.file("filler").c_str(), O_WRONLY | O_CREAT, 0600);
    const std::string page(4096, 'x');
    while (write(filler, page.data(), page.size()) > 0) continue;
    Answer answer;
    std::string name = "n";
    for (int i = 0; i < 200 && answer.problem.errc == Errc{}; ++i)
      answer = client.ask(name += "n", fresh_claim());
    EXPECT_EQ(answer.said, Said::no);
    EXPECT_EQ(answer.problem.errc, Errc::unavailable);
    EXPECT_EQ(answer.problem.reason, "disk_full") << answer.problem.text;
    unlink(folder.file("filler").c_str());
    close(filler);
    EXPECT_EQ(client.ask(name, fresh_claim()).said, Said::yes);
    EXPECT_EQ(client.renew("held", held).said, Said::yes);
    EXPECT_EQ(sql(path, "PRAGMA integrity_check"), "ok");
    client.close();
    umount(folder.path().c_str());
  });
  EXPECT_EQ(user.finish(), 0);
}

TEST_F(SqliteFile, TooFewDescriptorsAreNamedAndHarmNobody) {
  Peer user([&](const auto&) {
    SqliteClient holder(path);
    const ClaimId held = fresh_claim();
    EXPECT_EQ(holder.ask("held", held).said, Said::yes);
    const rlimit few{100, 100};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    std::vector<int> taken;
    for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(fd);
    std::vector<Answer> answers;
    for (int free = 0; free < 20 && (answers.empty() || answers.back().said != Said::yes); ++free) {
      answers.push_back(SqliteClient(path).ask("n", fresh_claim()));
      close(taken.back());
      taken.pop_back();
    }
    for (const int fd : taken) close(fd);
    EXPECT_GT(answers.size(), 3u);
    EXPECT_EQ(answers.back().said, Said::yes);
    answers.pop_back();
    for (const Answer& answer : answers) {
      EXPECT_EQ(answer.problem.errc, Errc::unavailable) << answer.problem.text;
      EXPECT_EQ(answer.problem.reason, "no_descriptors") << answer.problem.text;
    }
    EXPECT_EQ(holder.renew("held", held).said, Said::yes);
  });
  EXPECT_EQ(user.finish(), 0);
}

TEST(SqliteMounts, NetworkFileSystemsAreKnownByTheirType) {
  const std::string_view mounts =
      "21 1 254:0 / / rw,relatime - ext4 /dev/root rw\n"
      "211 21 0:44 / /home rw,relatime shared:1 - nfs4 server:/home rw\n"
      "22 21 0:45 / /media/a\\040b rw - fuse.sshfs me@host: rw\n";
  EXPECT_EQ(mount_type(mounts, "21"), "ext4");
  EXPECT_EQ(mount_type(mounts, "211"), "nfs4");
  EXPECT_EQ(mount_type(mounts, "22"), "fuse.sshfs");
  EXPECT_EQ(mount_type(mounts, "2"), "?");
  EXPECT_EQ(mount_type("22 nonsense", "22"), "?");
  for (const char* type : {"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "lustre", "gpfs",
                           "fuse.sshfs", "fuse.glusterfs"})
    EXPECT_TRUE(is_network(type)) << type;
  for (const char* type :
       {"ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "fuse.mergerfs", "fuseblk", "?"})
    EXPECT_FALSE(is_network(type)) << type;
}

}  // namespace
}  // namespace holdfast::stores::sqlite
