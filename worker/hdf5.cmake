# ddprun::hdf5, if this machine has HDF5. Not by find_package(HDF5), which needs a C compiler.
find_path(HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(HDF5_LIBRARY NAMES hdf5_serial hdf5)
mark_as_advanced(HDF5_INCLUDE_DIR HDF5_LIBRARY)
if(HDF5_INCLUDE_DIR AND HDF5_LIBRARY AND NOT TARGET ddprun::hdf5)
  add_library(ddprun::hdf5 INTERFACE IMPORTED GLOBAL)
  target_include_directories(ddprun::hdf5 INTERFACE ${HDF5_INCLUDE_DIR})
  target_link_libraries(ddprun::hdf5 INTERFACE ${HDF5_LIBRARY})
endif()
