// A worker whose kernel writes where no memory is, which the GPU's driver tells the kernel's log.
#include <cstdio>

__global__ void write_nowhere(int* nowhere) {
  *nowhere = 1;
}

int main() {
  write_nowhere<<<1, 1>>>(reinterpret_cast<int*>(0x7'0000'0000ULL));
  const cudaError_t error = cudaDeviceSynchronize();
  std::fprintf(stderr, "CUDA error: %s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
