#include "support/redis/certificates.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "support/process.hpp"

namespace holdfast::support {
namespace {

// $1 is the certificate's path without its ending.
constexpr auto self_signed = R"(
  openssl req -x509 -batch -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
    -subj '/CN=holdfast test authority' -days 2 -keyout "$1.key" -out "$1.crt" 2>"$1.log")";

// And $2 the authority's, $3 the names, $4 the days, $5 a serial number.
constexpr auto issued = R"(
  openssl req -new -batch -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
    -subj '/CN=holdfast test' -addext "subjectAltName=$3" \
    -keyout "$1.key" -out "$1.csr" 2>"$1.log"
  openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -days "$4" -set_serial "$5" \
    -copy_extensions copy -out "$1.crt" 2>>"$1.log")";

Certificate make(const std::string& script, std::vector<std::string> arguments) {
  const auto path = arguments.front();
  arguments.insert(arguments.begin(), {"sh", "-euc", script, "sh"});
  if (Process(arguments).wait() != 0) {
    std::ostringstream log;
    log << std::ifstream(path + ".log").rdbuf();
    throw std::runtime_error("openssl made no certificate: " + log.str());
  }
  return {path + ".crt", path + ".key"};
}

}  // namespace

Authority::Authority() : self_(make(self_signed, {folder_.path() / "authority"})) {}

Certificate Authority::issue(const std::string& names, int days) const {
  const auto serial = std::to_string(++issued_);
  return make(issued, {folder_.path() / serial, folder_.path() / "authority", names,
                       std::to_string(days), serial});
}

const Authority& authority() {
  static const Authority only;
  return only;
}

}  // namespace holdfast::support
