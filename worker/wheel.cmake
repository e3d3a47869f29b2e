# LibTorch from PyPI, in site-packages/torch. Its CMake files take libc10 from the system where that
# has one too, and demand a CUDA toolkit with nvcc, although C++ needs only headers and a libcudart:
# PyPI's packages of CUDA put those into site-packages/nvidia. Nobody looks for a toolkit when the
# target torch::cudart is there already. Without these folders nothing happens.
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
  # torch.utils.cmake_prefix_path is site-packages/torch/share/cmake.
  string(REGEX REPLACE "/torch(/share/cmake)?/?$" "" site_packages "${prefix}")
  if(EXISTS ${site_packages}/torch/lib/libtorch.so)
    list(PREPEND CMAKE_LIBRARY_PATH ${site_packages}/torch/lib)
  endif()
  file(GLOB cuda_includes ${site_packages}/nvidia/*/include)
  # CUDA 13's headers include crt/, which PyPI has in a package of its own that PyTorch does not ask
  # for. Triton, which it asks for, has those headers, too.
  file(GLOB cuda_crt ${site_packages}/nvidia/*/include/crt)
  if(NOT cuda_crt AND EXISTS ${site_packages}/triton/backends/nvidia/include/crt)
    list(APPEND cuda_includes ${site_packages}/triton/backends/nvidia/include)
  endif()
  file(GLOB cuda_runtime ${site_packages}/nvidia/*/lib/libcudart.so.*)
  if(cuda_runtime AND NOT TARGET torch::cudart)
    message(STATUS "CUDA headers and runtime: ${site_packages}/nvidia")
    add_library(torch::cudart INTERFACE IMPORTED GLOBAL)
    target_include_directories(torch::cudart SYSTEM INTERFACE ${cuda_includes})
    target_link_libraries(torch::cudart INTERFACE ${cuda_runtime})
    find_path(DDPRUN_NCCL_INCLUDE_DIR nccl.h PATHS ${cuda_includes} NO_DEFAULT_PATH)
  endif()
endforeach()
