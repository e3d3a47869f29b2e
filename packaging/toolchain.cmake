# Compiles for DDPRUN_TARGET by DDPRUN_ZIG: clang with libc++, and with the headers and symbols of
# the glibc that the target names. All libraries but glibc are in CMAKE_FIND_ROOT_PATH, as archives.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DDPRUN_ZIG DDPRUN_TARGET)
# Checks of CMake link nothing: with its flags each such link would compile a libc++ for itself.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${DDPRUN_TARGET}")

set(CMAKE_C_COMPILER "${DDPRUN_ZIG}" cc -target ${DDPRUN_TARGET})
set(CMAKE_CXX_COMPILER "${DDPRUN_ZIG}" c++ -target ${DDPRUN_TARGET})
set(CMAKE_AR "${DDPRUN_ZIG}")
set(CMAKE_RANLIB "${DDPRUN_ZIG}")
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "<CMAKE_AR> ar qcD <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "<CMAKE_AR> ar qD <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "<CMAKE_RANLIB> ranlib -D <TARGET>")
endforeach()

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
