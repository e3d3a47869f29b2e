# Archives in place of shared libraries, which cost a start of ddprun a third of its time. A library
# without an archive stays shared. So does glibc, which loads its own parts to look up names.
include(CheckCXXSourceCompiles)
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

# For the program ddprun alone: LibTorch brings its own libstdc++. As an archive, libm saves the
# start another library; libstdc++ needs it, so it is named before it. Only functions that glibc
# does not choose by the processor can come from there, which depends on what the compiler inlines.
if(DDPRUN_HAS_STATIC_LIBSTDCXX)
  set(DDPRUN_STATIC_OPTIONS -static-libstdc++ -static-libgcc -Wl,--as-needed,--gc-sections)
  set(CMAKE_REQUIRED_FLAGS ${CMAKE_CXX_FLAGS_RELEASE})
  set(CMAKE_REQUIRED_LIBRARIES -l:libstdc++.a -l:libm.a)
  check_cxx_source_compiles("
    #include <charconv>
    #include <cmath>
    #ifndef __GLIBCXX__
    #error another library
    #endif
    int main(int, char** text) {
      double value = 0;
      std::from_chars(text[0], text[1], value);
      return static_cast<int>(std::ceil(value)) + static_cast<int>(std::llround(value));
    }" DDPRUN_HAS_STATIC_LIBM)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(DDPRUN_HAS_STATIC_LIBM)
    set(DDPRUN_STATIC_ARCHIVES -l:libstdc++.a -l:libm.a)
  endif()
endif()

# Relative relocations as a bit map, which glibc reads from 2.36 on: a linker may be newer.
if(NOT CMAKE_CROSSCOMPILING)
  set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
  check_cxx_source_runs("int main() {}" DDPRUN_RUNS_PACKED_RELOCATIONS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(DDPRUN_RUNS_PACKED_RELOCATIONS)
    list(APPEND DDPRUN_STATIC_OPTIONS -Wl,-z,pack-relative-relocs)
  endif()
endif()
