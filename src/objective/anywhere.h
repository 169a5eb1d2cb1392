// How formulas are declared that hosts and devices compute.
#pragma once

#if defined(__CUDACC__)
#define HINGE_ANYWHERE __host__ __device__
#else
#define HINGE_ANYWHERE __attribute__((always_inline))
#endif
