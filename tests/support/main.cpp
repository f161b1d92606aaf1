// The main of every test program. It records each case, because CTest sees only whole suites: ./dev
// test reads there which case failed, which were slow, and in which one a process ended.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// "Stores/Loss.IsForGood/redis" is called "Loss.IsForGood/redis".
std::string name_of(const testing::TestInfo& test) {
  const std::string suite = test.test_suite_name();
  return suite.substr(suite.find('/') + 1) + "." + test.name();
}

class Record : public testing::EmptyTestEventListener {
 public:
  explicit Record(const std::string& folder) {
    if (!folder.empty())
      file_ = std::fopen((folder + "/" + std::to_string(getpid())).c_str(), "ae");
  }
  void OnTestStart(const testing::TestInfo& test) override { write("began", test); }
  void OnTestEnd(const testing::TestInfo& test) override {
    const auto& result = *test.result();
    write(result.Failed() ? "failed" : result.Skipped() ? "skipped" : "passed", test);
    if (result.Failed()) std::printf("again: ./dev test '%s'\n", name_of(test).c_str());
  }

 private:
  // Flushes each line, because a process may be killed in the middle of the next case.
  void write(const char* what, const testing::TestInfo& test) {
    if (file_ == nullptr || getpid() != owner_) return;
    std::fprintf(file_, "%s %s.%s %lld\n", what, label_.c_str(), name_of(test).c_str(),
                 static_cast<long long>(test.result()->elapsed_time()));
    std::fflush(file_);
  }
  std::FILE* file_ = nullptr;
  const pid_t owner_ = getpid();  // A forked child must not write in our name.
  const std::string label_ = variable("HOLDFAST_LABEL");
};

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (const auto only = variable("HOLDFAST_CASES"); !only.empty()) GTEST_FLAG_SET(filter, only);
  testing::UnitTest::GetInstance()->listeners().Append(new Record(variable("HOLDFAST_RECORD")));
  return RUN_ALL_TESTS();
}
