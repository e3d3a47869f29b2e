# Archives in place of shared libraries, which cost a start of ddprun a third of its time. A library
# without an archive stays shared. So does glibc, which loads its own parts to look up names.
include(CheckCXXSourceRuns)
include(CheckLinkerFlag)
if(NOT CMAKE_BUILD_TYPE STREQUAL Release)
  message(FATAL_ERROR "DDPRUN_STATIC is for CMAKE_BUILD_TYPE=Release")
endif()

# Sets `result` to the archive beside a shared library, or to that library if there is none.
function(find_archive shared result)
  string(REGEX REPLACE "[.]so[.0-9]*$" ".a" archive "${shared}")
  if(NOT EXISTS "${archive}")
    message(STATUS "No ${archive}: it is linked as a shared library")
    set(archive "${shared}")
  endif()
  set(${result} "${archive}" PARENT_SCOPE)
endfunction()

find_archive("${SODIUM_LIBRARY}" SODIUM_LIBRARY)
check_linker_flag(CXX -static-libstdc++ DDPRUN_HAS_STATIC_LIBSTDCXX)
foreach(library IN ITEMS Boost::program_options ${DDPRUN_YAML})
  get_target_property(shared ${library} LOCATION)
  find_archive("${shared}" archive)
  set_target_properties(${library} PROPERTIES IMPORTED_LOCATION_RELEASE "${archive}")
  if(archive STREQUAL shared)
    set(DDPRUN_HAS_STATIC_LIBSTDCXX OFF)  # a program must not have two
  endif()
endforeach()

# Debian has no archive of fmt, so its functions are compiled in.
set(DDPRUN_FMT fmt::fmt-header-only)

# For the program ddprun alone: LibTorch brings its own libstdc++. libstdc++ needs two functions of
# libm, which as an archive saves the start another library.
if(DDPRUN_HAS_STATIC_LIBSTDCXX)
  set(DDPRUN_STATIC_OPTIONS -static-libstdc++ -static-libgcc -Wl,--as-needed,--gc-sections)
  check_linker_flag(CXX -l:libm.a DDPRUN_HAS_STATIC_LIBM)
  if(DDPRUN_HAS_STATIC_LIBM)
    set(DDPRUN_STATIC_ARCHIVES -l:libstdc++.a -l:libm.a)
  endif()
endif()

# Relative relocations as a bit map, which glibc reads from 2.36 on: a linker may be newer.
set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
check_cxx_source_runs("int main() {}" DDPRUN_RUNS_PACKED_RELOCATIONS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(DDPRUN_RUNS_PACKED_RELOCATIONS)
  list(APPEND DDPRUN_STATIC_OPTIONS -Wl,-z,pack-relative-relocs)
endif()
