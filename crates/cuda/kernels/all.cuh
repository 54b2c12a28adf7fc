// All kernels, as one translation unit: what NVRTC compiles, and what host.cpp includes.
#include "elementwise.cuh"
#include "conversion.cuh"
#include "transform.cuh"
#include "factors.cuh"
#include "automorphism.cuh"
#include "degree.cuh"
#include "matrix.cuh"
