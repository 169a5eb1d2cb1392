// Formulas that the host and devices have in common, in every instruction set they are used with.
#pragma once

#if defined(__CUDACC__)
#define HINGE_ANYWHERE __host__ __device__
#else
#define HINGE_ANYWHERE __attribute__((always_inline))
#endif
