# holdfast_add_test(<name> LABEL <label> SOURCES <files> [LINK <targets>])
#
# A program of GoogleTest cases, each of which CTest runs in a process of its own.
function(holdfast_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES;LINK")
  # For what hangs: longer than any test is patient.
  set(timeout 300)
  if(HOLDFAST_SANITIZE)
    set(timeout 900)
  endif()

  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES HOLDFAST_WAITS ON)
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main holdfast_private)
  if(arg_LABEL MATCHES "^(unit|stores|conformance)$")
    add_dependencies(holdfast_sanitized ${name})
  endif()
  gtest_discover_tests(${name}
    TEST_PREFIX ${arg_LABEL}.
    NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${timeout})
endfunction()
