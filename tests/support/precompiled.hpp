// tests/support/precompiled.hpp: what nearly every test includes. Reading it takes a third of the
// time to compile a test, so it is precompiled. Each test still includes what it uses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/backend.hpp"
#include "holdfast/holdfast.hpp"
