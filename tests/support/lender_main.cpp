// server_lender: see support/lender.hpp.
#include "support/lender.hpp"

int main() { holdfast::support::lend(); }
