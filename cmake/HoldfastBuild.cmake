# How everything of ours is compiled, and where it lies in the build tree.

# All in one folder, because libholdfast looks for its stores beside itself.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
  endif()
  # Line numbers are enough for a backtrace, and full debug information doubles the build.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(HOLDFAST_CCACHE ccache)
  if(HOLDFAST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Without this, ccache does not cache what was compiled with a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      "CCACHE_SLOPPINESS=pch_defines,time_macros" "${HOLDFAST_CCACHE}")
  endif()
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
find_package(Threads REQUIRED)

# For our own targets: a consumer never inherits a warning, -Werror or the include path of src/.
add_library(holdfast_private INTERFACE)
target_compile_features(holdfast_private INTERFACE cxx_std_20)
target_include_directories(holdfast_private INTERFACE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_compile_options(holdfast_private INTERFACE
  -fno-semantic-interposition -fvisibility-inlines-hidden)
target_link_libraries(holdfast_private INTERFACE Threads::Threads)
if(HOLDFAST_DEVELOPER)
  target_compile_options(holdfast_private INTERFACE -Wall -Wextra -Wpedantic -Wconversion)
  # In a unity build, a file sees the names of those before it, and GCC takes each file for a header.
  if(NOT CMAKE_UNITY_BUILD)
    target_compile_options(holdfast_private INTERFACE -Wshadow)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(holdfast_private INTERFACE
      -Wno-subobject-linkage -Wno-mismatched-new-delete)
  endif()
  # GCC 12 sees overlapping copies in std::string where there are none, at -O3 (its bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(holdfast_private INTERFACE -Wno-restrict)
  endif()
  # Newer compilers have warnings that we have not seen; those must not stop a newcomer.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(holdfast_private INTERFACE -Werror)
  endif()
endif()
if(HOLDFAST_SANITIZE)
  # The vptr check opens a pipe, and some tests leave a process no descriptor for that. In
  # instrumented code, GCC 12 takes variables of a coroutine for uninitialized.
  target_compile_options(holdfast_private INTERFACE -O1 -fno-omit-frame-pointer
    -fsanitize=${HOLDFAST_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(holdfast_private INTERFACE -fsanitize=${HOLDFAST_SANITIZE})
endif()
# Tests wait more than they compute, so optimizing them is not worth the time.
target_compile_options(holdfast_private INTERFACE $<$<BOOL:$<TARGET_PROPERTY:HOLDFAST_WAITS>>:-O0>)
