# holdfast_add_store(<name> SOURCES <files> [PACKAGE <package>] [LINK <targets>])
#
# One module libholdfast-<name>.so.0, which libholdfast loads and nobody links. It has its own copy of
# the code that it uses and exports one symbol, so it works with a static libholdfast too.
#
# HOLDFAST_<NAME>=AUTO builds the store if its package is found, ON fails without it, and OFF leaves
# it out. Nothing is skipped in silence: see holdfast_report_stores().
function(holdfast_add_store name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE" "SOURCES;LINK")
  string(TOUPPER HOLDFAST_${name} switch)
  set(${switch} AUTO CACHE STRING "Build the ${name} store: AUTO, ON or OFF")
  set_property(CACHE ${switch} PROPERTY STRINGS AUTO ON OFF)

  if(${switch} STREQUAL "OFF")
    set_property(GLOBAL APPEND PROPERTY holdfast_skipped "${name} (off)")
    return()
  endif()
  if(arg_PACKAGE)
    find_package(${arg_PACKAGE} QUIET)
    if(NOT ${arg_PACKAGE}_FOUND AND ${switch} STREQUAL "AUTO")
      set_property(GLOBAL APPEND PROPERTY holdfast_skipped "${name} (no ${arg_PACKAGE})")
      return()
    elseif(NOT ${arg_PACKAGE}_FOUND)
      message(FATAL_ERROR "${switch}=ON, but ${arg_PACKAGE} was not found")
    endif()
  endif()

  add_library(holdfast_${name}_objects OBJECT ${arg_SOURCES})  # Tests link them too.
  set_target_properties(holdfast_${name}_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(holdfast_${name}_objects PUBLIC ${arg_LINK} PRIVATE holdfast_private)

  set(exports "${PROJECT_SOURCE_DIR}/cmake/module.map")
  add_library(holdfast_${name} MODULE $<TARGET_OBJECTS:holdfast_${name}_objects>)
  set_target_properties(holdfast_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME libholdfast-${name} SUFFIX .so.0
    LINKER_LANGUAGE CXX LINK_DEPENDS "${exports}")
  target_link_options(holdfast_${name} PRIVATE
    LINKER:--version-script=${exports},--no-undefined,-soname,libholdfast-${name}.so.0)
  target_link_libraries(holdfast_${name} PRIVATE holdfast_module ${arg_LINK} holdfast_private)
  install(TARGETS holdfast_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${name})
  set_property(GLOBAL APPEND PROPERTY holdfast_stores ${name})
endfunction()

function(holdfast_report_stores)
  get_property(built GLOBAL PROPERTY holdfast_stores)
  get_property(skipped GLOBAL PROPERTY holdfast_skipped)
  list(JOIN built " " built)
  list(JOIN skipped ", " skipped)
  if(NOT skipped)
    set(skipped none)
  endif()
  message(STATUS "holdfast stores: memory ${built}; skipped: ${skipped}")
endfunction()
