// The kernels whose speed depends on the instruction set, and the choice between the sets.
//
// cube_kernels.cpp and linear_kernels.cpp are compiled once per instruction set, with HFD_ISA naming the namespace and
// with the compiler flags of that set; a Kernels table holds their functions. The arithmetic is the same, operation by operation (eight
// running sums, no contraction to fused multiply-add), so that every instruction set gives the same bits.
#pragma once

#include "runtime.hpp"

namespace hfd {

// Positions and sets are 32-bit numbers, and 3^32 steps are beyond any machine.
inline constexpr int kMaxCube = 32;

// A function on the cube {0,1}^d is a table of 2^d doubles: the cell x sits at the index whose bit b is coordinate b
// of x. A subset of the coordinates is the index of its indicator vector. m functions are m tables in a row.
struct Cube {
  int d;
  std::size_t m;
  int threads;
};

// Coordinate descent on a symmetric r x r Gram matrix, over the listed coordinates.
struct Descent {
  const double* gram;
  std::size_t r;
  const double *l1, *l2;       // penalties of every coordinate
  const std::int64_t* active;  // the coordinates to visit, in order
  std::size_t n_active;
  double *beta, *q;            // in and out; q = m - G beta
};

struct LinearKernels {
  // Returns the number of ones in a & b, and stores a & b if out is not null.
  std::uint64_t (*and_count)(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* out, std::size_t words);

  // The cell of each row: the bits of these columns (bits is features x rows, one byte each), the first the highest.
  void (*cells)(const std::uint8_t* bits, std::size_t rows, const std::int32_t* features, std::size_t size,
                std::uint32_t* out);

  // sums[r] += table[cell[r]].
  void (*add_entries)(const double* table, const std::uint32_t* cell, std::size_t rows, double* sums);

  // So many sweeps; returns the largest squared step of the last one, in units of the objective.
  double (*descend)(const Descent& state, std::size_t sweeps, Runtime runtime);
};

// solve, synthesize and project take 3^d units of work (Runtime::advance).
struct Kernels {
  const char* name;
  const LinearKernels* linear;

  // The triangular recursion. In: g = f. Out: beta, and g = what is left of f (rounding only).
  // Sets with an unobserved cell are passed over (beta = 0).
  void (*solve)(Cube, double* g, const double* p, double* beta, Runtime);

  // The inverse. In: g = 0, beta. Out: g = sum_S beta_S psi_S. Sets with an unobserved cell are passed over.
  void (*synthesize)(Cube, double* g, const double* p, double* beta, Runtime);

  // In: the m tables of h = f p, then p. Out: inner = E[f psi_S], norm2 = E[psi_S^2]; zero at unobserved cells.
  void (*project)(Cube, const double* tables, double* inner, double* norm2, Runtime);

  // In place: the 2x2 matrix matrices[4 b .. 4 b + 3] acts along coordinate b, for every b.
  void (*kronecker)(Cube, double* f, const double* matrices, Runtime);

  // In place: one function known on part of the cube, continued to all of it (known becomes all ones).
  // b and known_b are scratch of the same sizes.
  void (*extend)(double* f, unsigned char* known, std::size_t size, double* b, unsigned char* known_b);
};

// The instruction sets compiled into this library that this machine can run, best last.
std::size_t available(const Kernels** out, std::size_t capacity);

}  // namespace hfd
