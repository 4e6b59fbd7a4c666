// Sums over rows of bits: how often all bits of a set are one, and sums of a target over those rows.
//
// z_T(x) = product of x_i over i in T. Sets are visited depth first; a set that never occurs has no superset that does.
#pragma once

#include <vector>

#include "isa.hpp"

namespace hfd {

struct Rows {
  const std::uint64_t* columns;  // d x words, row r at bit r % 64 of word r / 64, padding zero
  std::size_t d, words, rows;
};

// What to sum over the rows where z_T = 1.
struct Weights {
  const std::uint64_t* planes;   // integer weights, bit b of all rows in plane b: n_planes x words; none: weight one
  std::size_t n_planes;
  const double* real;            // or real weights, one per row; null if the weights are integers
  const double* targets;         // m targets (times the weight), m x rows
  std::size_t m;
};

// Of one size: the sets that occur (count x size, lexicographic), and their sums.
struct LevelSums {
  std::vector<std::int32_t> sets;
  std::vector<std::int64_t> counts;   // sum of the integer weights; number of rows if the weights are real
  std::vector<double> weights;        // sum of the real weights, if they are real
  std::vector<double> targets;        // count x m, for sizes up to target_size
};

// A down-closed family by level: sets[s] is count[s] x s, in lexicographic order.
struct Levels {
  std::vector<const std::int32_t*> sets;
  std::vector<std::size_t> counts;
};

// Of the sets of `only`, or of all (null): sizes 1 .. max_size; targets are summed for sizes up to target_size.
std::vector<LevelSums> sum_over_sets(const Kernels& kernels, const Rows& rows, const Weights& weights,
                                     const Levels* only, int max_size, int target_size, int threads, Runtime runtime);

// Packs an n x d table of bytes 0 and 1 into columns (d x words, padding zero on entry).
void pack_columns(const std::uint8_t* rows, std::size_t n, std::size_t d, std::uint64_t* columns, std::size_t words);

// M[a, b] = value of the union of sets a and b of the family, 0 if the union does not occur; M is zero on entry.
// `occurring` holds all sets that occur up to twice the order, values[s] one number for each set of size s.
void union_matrix(const Levels& family, const Levels& occurring, const std::vector<const double*>& values, double* M,
                  int threads, Runtime runtime);

}  // namespace hfd
