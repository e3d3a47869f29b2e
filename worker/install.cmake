# The worker runtime for projects outside of this one: its archive, headers and CMake package.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/ddprun)

set_target_properties(ddprun_worker PROPERTIES EXPORT_NAME worker)
install(TARGETS ddprun_worker EXPORT ddprun-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/ddprun DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.hpp)
install(EXPORT ddprun-targets NAMESPACE ddprun:: DESTINATION ${package})

# What the package looks for is what this build has found.
set(found_libraries ZLIB)
if(JPEG_FOUND)
  list(APPEND found_libraries JPEG)
endif()
if(PNG_FOUND)
  list(APPEND found_libraries PNG)
endif()
set(with_hdf5 OFF)
if(TARGET ddprun::hdf5)
  set(with_hdf5 ON)
endif()
ddprun_name_torch(compiled_torch)
cmake_path(GET Torch_DIR PARENT_PATH torch_prefix)
configure_file(ddprun-config.cmake.in ddprun-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ddprun-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES hdf5.cmake torch.cmake wheel.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ddprun-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ddprun-config-version.cmake
        DESTINATION ${package})
install(FILES compat/vector_for_clang.hpp DESTINATION ${package}/compat)
