# cmake --install: headers, libraries, stores, the command, a CMake package and a pkg-config file.

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
install(TARGETS holdfast EXPORT holdfast
  FILE_SET headers
  LIBRARY NAMELINK_COMPONENT development)
install(EXPORT holdfast NAMESPACE holdfast:: FILE holdfast-targets.cmake DESTINATION ${config_dir})

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/holdfast-config.cmake.in
  "${PROJECT_BINARY_DIR}/holdfast-config.cmake" INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/holdfast-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/holdfast-config.cmake"
  "${PROJECT_BINARY_DIR}/holdfast-config-version.cmake"
  DESTINATION ${config_dir})

# The .pc file gives the prefix relative to itself, so that an installed tree may be moved.
file(RELATIVE_PATH holdfast_pc_prefix
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/holdfast.pc.in "${PROJECT_BINARY_DIR}/holdfast.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/holdfast.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
