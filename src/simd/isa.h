// Code that is compiled once for each instruction set, and how the one for this CPU is found.
//
// A loop is written once, as a HINGE_INLINE body. A file NAME.isa.cc has a macro of (isa,
// attributes) that makes functions of its bodies and puts pointers to them into a table;
// HINGE_FOR_EACH_ISA expands it for every instruction set there is, and tables are chosen by
// Simd::isa. (A macro, because a target is not inherited by what a function calls or is called by.)
// To add an instruction set is to add it to both lists here, to give simd.cc a table of it, and to
// write its dot_body_NAME.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hinge {

// What loops are compiled for, in the order of HINGE_FOR_EACH_ISA. `avx2_gather` is AVX2 where
// floats are read by its gather instruction.
enum class Isa : std::uint8_t { scalar, avx2, avx2_gather };

#if defined(__x86_64__)
#define HINGE_FOR_EACH_ISA(define) \
  define(scalar, ) define(avx2, HINGE_AVX2) define(avx2_gather, HINGE_AVX2)
#else
#define HINGE_FOR_EACH_ISA(define) define(scalar, )
#endif

// Code that is compiled anew for each instruction set it is used with. Called, it would mix two
// encodings of vector instructions, which costs more than the work itself.
#define HINGE_INLINE __attribute__((always_inline)) inline

#define HINGE_AVX2 __attribute__((target("avx2")))
// GCC 12 misaligns 64-byte registers it keeps on AddressSanitizer's fake stack, hence the
// exception.
#define HINGE_AVX512 __attribute__((target("avx512f,avx512vl"), no_sanitize_address))

// The table for an instruction set; `tables` has one for each, as HINGE_FOR_EACH_ISA lists them.
template <class Table, std::size_t count>
constexpr const Table& table_for(Isa isa, const Table (&tables)[count]) {
  return tables[static_cast<std::size_t>(isa)];
}

}  // namespace hinge
