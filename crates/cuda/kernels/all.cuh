// All kernels in one translation unit, which NVRTC compiles and host.cpp includes.
#include "elementwise.cuh"
#include "conversion.cuh"
#include "transform.cuh"
#include "factors.cuh"
#include "automorphism.cuh"
#include "degree.cuh"
#include "matrix.cuh"
