# What makes an error in memory hard to exploit. tests/e2e/hardened.sh reads it off the program.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

# Adds `flag` to `target` where the compiler takes it on this architecture without a warning.
function(add_known_flag target flag)
  string(MAKE_C_IDENTIFIER "DDPRUN_HAS${flag}" has)
  set(CMAKE_REQUIRED_FLAGS -Werror)
  check_cxx_compiler_flag(${flag} ${has})
  if(${has})
    target_compile_options(${target} INTERFACE ${flag})
  endif()
endfunction()

# harden(TARGET): an INTERFACE library that all others link.
function(harden target)
  add_known_flag(${target} -fstack-protector-strong)
  add_known_flag(${target} -fstack-clash-protection)

  # A library that is loaded keeps the -fPIC that CMake gives it.
  target_compile_options(${target} INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:POSITION_INDEPENDENT_CODE>>>:-fPIE>)
  target_link_options(${target} INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie> LINKER:-z,relro,-z,now)

  # glibc checks the sizes of buffers where the compiler knows them, which takes optimisation. Level
  # 3 is of glibc 2.34 with g++ 12 or clang 9; others warn of it. Some compilers define a level.
  set(CMAKE_REQUIRED_FLAGS "-O1 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_cxx_source_compiles("#include <cstdlib>\nint main() {}" DDPRUN_HAS_FORTIFY_3)
  set(level $<IF:$<BOOL:${DDPRUN_HAS_FORTIFY_3}>,3,2>)
  # What is installed does not tell where it was built; a debugger needs to know that.
  target_compile_options(${target} INTERFACE
    "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${level}>"
    "$<$<NOT:$<CONFIG:Debug>>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>")
endfunction()
