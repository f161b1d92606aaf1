#include "support/redis/certificates.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "support/process.hpp"

namespace holdfast::support {
namespace {

// $1: the certificate's path without its suffix.
constexpr auto self_signed = R"(
  openssl req -x509 -batch -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
    -subj '/CN=holdfast test authority' -days 2 -keyout "$1.key" -out "$1.crt" 2>"$1.log")";

// Also $2: the authority's path, $3: the subject, $4: the extension, $5: the days, $6: the serial
// number. The authority's own certificate follows, unless it is self-signed.
constexpr auto issued = R"(
  openssl req -new -batch -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
    -subj "/CN=$3" -addext "$4" -keyout "$1.key" -out "$1.csr" 2>"$1.log"
  openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -days "$5" -set_serial "$6" \
    -copy_extensions copy -out "$1.crt" 2>>"$1.log"
  if grep -q 'CERTIFICATE REQUEST' "$2.csr" 2>>"$1.log"; then cat "$2.crt" >>"$1.crt"; fi)";

// $1: the list, $2: the authority's path, $3: how many lists it made before, then serial numbers.
constexpr auto listed = R"sh(
  list=$1 authority=$2 before=$3
  shift 3
  : >"$list.index"
  for serial; do
    printf 'R\t490101000000Z\t200101000000Z\t%02X\tunknown\t/CN=%s\n' "$serial" "$serial"
  done >>"$list.index"
  printf '[ca]\ndefault_ca=it\n[it]\ndatabase=%s\ndefault_md=sha256\n' "$list.index" >"$list.cnf"
  openssl ca -gencrl -config "$list.cnf" -cert "$authority.crt" -keyfile "$authority.key" \
    -crl_lastupdate "$(date -ud "yesterday $before minutes" +%Y%m%d%H%M%SZ)" -crldays 2 \
    -out "$list.crt" 2>"$list.log")sh";

Certificate make(const std::string& script, std::vector<std::string> arguments) {
  const auto path = arguments.front();
  arguments.insert(arguments.begin(), {"sh", "-euc", script, "sh"});
  if (Process(arguments).wait() != 0) {
    std::ostringstream log;
    log << std::ifstream(path + ".log").rdbuf();
    throw std::runtime_error("openssl made no certificate: " + log.str());
  }
  return {path + ".crt", path + ".key", {}};
}

}  // namespace

Authority::Authority() : self_(make(self_signed, {folder_.path() / "authority"})) {}
Authority::Authority(const Authority* above)
    : self_(above->sign(folder_.path() / "authority", "holdfast test authority below",
                        "basicConstraints=critical,CA:true", 2)) {}

Certificate Authority::issue(const std::string& names, int days) const {
  return sign(folder_.path() / std::to_string(issued_ + 1), "holdfast test",
              "subjectAltName=" + names, days);
}

Certificate Authority::sign(const std::string& path, const std::string& whose,
                            const std::string& what_for, int days) const {
  const auto serial = std::to_string(++issued_);
  auto certificate = make(
      issued, {path, folder_.path() / "authority", whose, what_for, std::to_string(days), serial});
  certificate.serial = serial;
  return certificate;
}

std::string Authority::revoked(const std::vector<Certificate>& certificates) const {
  const auto before = std::to_string(lists_++);
  std::vector<std::string> arguments{folder_.path() / ("revoked" + before),
                                     folder_.path() / "authority", before};
  for (const Certificate& each : certificates) arguments.push_back(each.serial);
  return make(listed, arguments).file;
}

const Authority& authority() {
  static const Authority only;
  return only;
}

}  // namespace holdfast::support
