# holdfast_add_test(<name> LABEL <label> SOURCES <files> [LINK <targets>] [SANITIZED])
#
# A program of GoogleTest cases. CTest runs each of its suites in one process, or in one process per
# row if the suite has rows: conformance.Loss/redis. tests/matrix.cmake says which of them run.
# SANITIZED: ./dev asan and ./dev tsan build and run it too.
function(holdfast_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SANITIZED" "LABEL" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES} $<TARGET_OBJECTS:holdfast_test_main>)
  set_target_properties(${name} PROPERTIES HOLDFAST_WAITS ON)
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest holdfast_private)
  # gRPC's flags define one more macro, and the precompiled header was built without it.
  if(NOT CMAKE_UNITY_BUILD AND NOT "holdfast_etcd_objects" IN_LIST arg_LINK)
    target_precompile_headers(${name} REUSE_FROM holdfast_test_main)
    # ccache needs this for code that uses a precompiled header.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
  if(arg_SANITIZED)
    add_dependencies(holdfast_sanitized ${name})
  endif()

  # The suites are listed when CTest starts, because the program has not been built before that.
  set(include "${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake")
  file(GENERATE OUTPUT "${include}" CONTENT
    "set(program \"$<TARGET_FILE:${name}>\")
set(label \"${arg_LABEL}\")
set(sanitized \"${HOLDFAST_SANITIZE}\")
set(built_sanitized \"${arg_SANITIZED}\")
include(\"${PROJECT_SOURCE_DIR}/tests/matrix.cmake\")
include(\"${PROJECT_SOURCE_DIR}/cmake/HoldfastSuites.cmake\")
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include}")
endfunction()
