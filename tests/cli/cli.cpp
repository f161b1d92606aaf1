#include "cli.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

namespace holdfast::cli_test {
namespace {

constexpr int status_number = 9;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void become(const Running::Plan& plan, int status, const std::string& out, const std::string& err) {
  ::setsid();
  const auto opened = [](const std::string& path, int flags, int number) {
    const int file = ::open(path.c_str(), flags, 0600);
    ::dup2(file, number);
    if (file != number) ::close(file);
  };
  opened("/dev/null", O_RDONLY, STDIN_FILENO);
  opened(out, O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO);
  opened(err, O_WRONLY | O_CREAT | O_APPEND, STDERR_FILENO);
  if (status != -1) ::dup2(status, status_number);
  if (status == status_number) ::fcntl(status, F_SETFD, 0);
  for (const auto& [name, value] : plan.environment)
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  if (::chdir(plan.folder.c_str()) != 0) ::_exit(99);
  std::vector<char*> arguments{const_cast<char*>(binary.c_str())};
  for (const auto& argument : plan.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  if (plan.before_exec) plan.before_exec();
  ::execv(binary.c_str(), arguments.data());
  ::_exit(99);
}

}  // namespace

const std::string binary =
    std::getenv("HOLDFAST_BINARY") ? std::getenv("HOLDFAST_BINARY") : HOLDFAST_BINARY;

Running::Running(const Plan& plan) {
  static int count = 0;
  out_ = plan.folder + "/out." + std::to_string(++count);
  err_ = plan.folder + "/err." + std::to_string(count);
  int ends[2] = {-1, -1};
  if (plan.status && ::pipe2(ends, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category());
  pid_ = ::fork();
  if (pid_ == 0) become(plan, ends[1], out_, err_);
  if (ends[1] != -1) ::close(ends[1]);
  status_ = ends[0];
}

Running::~Running() {
  if (!over()) {
    const auto guards = children_of(pid_);
    ::kill(pid_, SIGKILL);
    wait();
    // The guards stop the command and release the lock, in a folder that is about to be deleted.
    for (const pid_t guard : guards) eventually([&] { return !alive(guard); });
  }
  if (status_ != -1) ::close(status_);
}

pid_t Running::guard() const {
  eventually([&] { return !children_of(pid_).empty(); });
  return children_of(pid_).at(0);
}

void Running::signal(int number) const { ::kill(pid_, number); }

std::string Running::line() {
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      auto line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd ready{status_, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(patient.count())) != 1) return "nothing came";
    char part[512];
    const auto length = ::read(status_, part, sizeof part);
    if (length <= 0) return {};
    unread_.append(part, static_cast<std::size_t>(length));
  }
}

std::string Running::line_after(const std::string& passed) {
  auto next = line();
  while (next == passed) next = line();
  return next;
}

bool Running::over() {
  int status = 0;
  if (!code_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return code_.has_value();
}

Outcome Running::wait() {
  if (!eventually([&] { return over(); })) ADD_FAILURE() << "holdfast did not end";
  return {code_.value_or(-1000), contents(out_), contents(err_)};
}

std::string Cli::read(const std::string& name) const { return contents(path(name)); }

void Cli::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
}

Running::Plan Cli::plan(const Words& arguments) const {
  Running::Plan plan;
  plan.folder = folder_.path().string();
  plan.arguments = arguments;
  plan.environment = {{"HOLDFAST_STORE", store()},
                      {"HOLDFAST_HELD", {}},
                      {"HOLDFAST_NAME", {}},
                      {"HOLDFAST_TOKEN", {}}};
  plan.environment.insert(environment_.begin(), environment_.end());
  return plan;
}

std::unique_ptr<Running> Cli::start(const Words& arguments) {
  auto with_status = plan(Words{"--status-fd", "9"} + arguments);
  with_status.status = true;
  return std::make_unique<Running>(with_status);
}

pid_t Cli::pid_in(const std::string& file) const {
  EXPECT_TRUE(eventually([&] { return read(file).ends_with('\n'); })) << "no pid in " << file;
  const auto text = read(file);
  return text.empty() ? -1 : std::stoi(text);
}

Words Cli::witnessed(const std::string& then, const std::string& ready) const {
  const auto script = "exec 8>" + path("oracle") + "; flock 8; " + ready + "; echo $$ >" +
                      path("pid.new") + "; mv " + path("pid.new") + " " + path("pid") + "; " + then;
  return {"sh", "-c", script};
}

std::string state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');
  return name_end == text.npos ? "" : text.substr(name_end + 2, 1);
}

bool alive(pid_t process) {
  const auto state = state_of(process);
  if (state != "Z") return !state.empty() && state != "X";
  // A killed process keeps its files until the last of its threads is gone, too.
  std::error_code gone;
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task",
                                                    gone);
  return std::distance(begin(threads), end(threads)) > 1;
}

std::vector<pid_t> children_of(pid_t process) {
  const auto name = std::to_string(process);
  std::ifstream file("/proc/" + name + "/task/" + name + "/children");
  std::vector<pid_t> found;
  for (pid_t child; file >> child;) found.push_back(child);
  return found;
}

Words operator+(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace holdfast::cli_test
