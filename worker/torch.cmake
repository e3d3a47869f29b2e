# LibTorch, as this build and the installed package use what find_package(Torch) has found.

# ddprun_name_torch(RESULT): such as "LibTorch 2.15.0 with CUDA". Only what was compiled with the
# same one can be linked together.
function(ddprun_name_torch result)
  set(name "LibTorch ${Torch_VERSION}")
  if(TARGET torch_cuda)
    string(APPEND name " with CUDA")
  elseif(TARGET torch_hip)
    string(APPEND name " with ROCm")
  endif()
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# ddprun_use_torch(TARGET): an INTERFACE library gets LibTorch, whose headers cause no warnings
# (SYSTEM).
function(ddprun_use_torch target)
  target_include_directories(${target} SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(${target} INTERFACE ${TORCH_LIBRARIES})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND Torch_VERSION VERSION_LESS 2)
    target_compile_options(${target} INTERFACE
      "SHELL:-include ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/compat/vector_for_clang.hpp")
  endif()
endfunction()
