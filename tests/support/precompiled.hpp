// tests/support/precompiled.hpp: what nearly every test includes. To read it takes a third of the
// time that a test takes to compile. Each test names what it uses nevertheless.
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
