# How gradients travel between GPUs: by NVIDIA's NCCL or, with a LibTorch for ROCm, by AMD's RCCL.
# LibTorch's header of its process group includes theirs. Without it the ranks could not reduce
# gradients on GPUs, which would show only there.
find_path(DDPRUN_NCCL_INCLUDE_DIR nccl.h DOC "Folder of nccl.h, for LibTorch builds with CUDA")
find_path(DDPRUN_RCCL_INCLUDE_DIR rccl/rccl.h HINTS ENV ROCM_PATH PATHS /opt/rocm
          PATH_SUFFIXES include DOC "Folder of rccl/rccl.h, for LibTorch builds with ROCm")
mark_as_advanced(DDPRUN_NCCL_INCLUDE_DIR DDPRUN_RCCL_INCLUDE_DIR)

# use_gpus_of_torch(TARGET): an INTERFACE library that has LibTorch.
function(use_gpus_of_torch target)
  if(TARGET torch_cuda)
    set(gpus CUDA)
    set(header nccl.h)
    set(variable DDPRUN_NCCL_INCLUDE_DIR)
    set(packages "libnccl-dev, or nvidia/nccl/include of PyPI's nvidia-nccl")
  elseif(TARGET torch_hip)
    set(gpus ROCm)
    set(header rccl/rccl.h)
    set(variable DDPRUN_RCCL_INCLUDE_DIR)
    set(packages "rccl-dev, or the include folder of a ROCm installation")
  else()
    return()
  endif()
  if(Torch_VERSION VERSION_LESS 2)
    message(FATAL_ERROR "LibTorch ${Torch_VERSION} with ${gpus}: before 2.0 a process group has "
                        "one backend, and ddprun's workers need two, Gloo and NCCL; use LibTorch "
                        "2.0 or later, a LibTorch without ${gpus}, or -DDDPRUN_WORKER=OFF for "
                        "ddprun alone")
  endif()
  if(NOT ${variable})
    message(FATAL_ERROR "LibTorch has ${gpus}, but ${header} was not found: set ${variable} to "
                        "its folder (${packages}), use a LibTorch without ${gpus}, or configure "
                        "with -DDDPRUN_WORKER=OFF for ddprun alone")
  endif()
  target_compile_definitions(${target} INTERFACE USE_C10D_NCCL)
  target_include_directories(${target} SYSTEM INTERFACE ${${variable}})
endfunction()
