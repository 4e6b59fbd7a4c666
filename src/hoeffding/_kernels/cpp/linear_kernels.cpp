// Kernels on rows and on a Gram matrix whose speed depends on the instruction set: counting common rows, looking up
// tables, coordinate descent.

#include "isa.hpp"
#include "tiles.hpp"

namespace hfd {
namespace HFD_ISA {
namespace {

inline std::uint64_t bits_set(std::uint64_t x) {
#if defined(__POPCNT__) || defined(__ARM_NEON)
  return static_cast<std::uint64_t>(__builtin_popcountll(x));
#else
  x -= (x >> 1) & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (x * 0x0101010101010101u) >> 56;
#endif
}

std::uint64_t and_count(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* out, Index words) {
  std::uint64_t count = 0;
  if (out == nullptr) {
    for (Index v = 0; v < words; ++v) count += bits_set(a[v] & b[v]);
  } else {
    for (Index v = 0; v < words; ++v) {
      const std::uint64_t word = a[v] & b[v];
      out[v] = word;
      count += bits_set(word);
    }
  }
  return count;
}

void cells(const std::uint8_t* bits, Index rows, const std::int32_t* features, Index size, std::uint32_t* out) {
  for (Index r = 0; r < rows; ++r) out[r] = 0;
  for (Index i = 0; i < size; ++i) {
    const std::uint8_t* column = bits + static_cast<Index>(features[i]) * rows;
    for (Index r = 0; r < rows; ++r) out[r] = 2 * out[r] + column[r];
  }
}

void add_entries(const double* table, const std::uint32_t* cell, Index rows, double* sums) {
  for (Index r = 0; r < rows; ++r) sums[r] += table[cell[r]];
}

// Minimises 1/2 b'Gb - m'b + sum_j (l1_j |b_j| + l2_j b_j^2 / 2) over one coordinate after the other, where
// q = m - G b is kept up to date. Returns the largest |change of b_j| sqrt(G_jj + l2_j) in the last sweep.
double descend(const Descent& s, Index sweeps, Runtime runtime) {
  double largest = 0.0;
  for (Index sweep = 0; sweep < sweeps; ++sweep) {
    largest = 0.0;
    for (Index t = 0; t < s.n_active; ++t) {
      const Index j = static_cast<Index>(s.active[t]);
      const double curvature = s.gram[j * s.r + j] + s.l2[j];
      if (!(curvature > 0.0)) continue;
      const double old = s.beta[j], rho = s.q[j] + s.gram[j * s.r + j] * old;
      const double excess = (rho < 0.0 ? -rho : rho) - s.l1[j];
      const double next = excess > 0.0 ? (rho < 0.0 ? -excess : excess) / curvature : 0.0;
      const double change = next - old;
      if (change == 0.0) continue;
      s.beta[j] = next;
      const double* column = s.gram + j * s.r;
      for (Index i = 0; i < s.r; ++i) s.q[i] -= change * column[i];
      const double step = change * change * curvature;
      if (step > largest) largest = step;
    }
    if (runtime.stop()) break;
  }
  return largest;
}

}  // namespace

extern const LinearKernels kLinearKernels;
const LinearKernels kLinearKernels = {&and_count, &cells, &add_entries, &descend};

}  // namespace HFD_ISA
}  // namespace hfd
