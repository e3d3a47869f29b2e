# Writes the source OUTPUT, of launcher/commit.hpp, with the commit of the clone SOURCE_DIR. Leaves
# it alone if it says that already. For cmake -P.
set(commit unknown)
# Without a clone here, git would name the commit of one around it.
if(EXISTS "${SOURCE_DIR}/.git")
  execute_process(
    COMMAND git --no-optional-locks status --porcelain=v2 --branch --untracked-files=no
    WORKING_DIRECTORY "${SOURCE_DIR}"
    OUTPUT_VARIABLE status
    ERROR_QUIET)
  if(status MATCHES "# branch.oid ([0-9a-f]+)")
    string(SUBSTRING ${CMAKE_MATCH_1} 0 12 commit)
    if(status MATCHES "(^|\n)[^#\n]")
      string(APPEND commit ", changed")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[
// Written by launcher/commit.cmake.
#include "launcher/commit.hpp"

const char* const ddprun::commit = "@commit@";
]] @ONLY)
