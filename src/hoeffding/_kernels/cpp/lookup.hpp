// Sums of tables at rows: sum over sets S of weight * f_S(x_S), for several targets at once.
//
// Sets that lie in one small block of features are added up beforehand, into one table for the block and target.
#pragma once

#include "counting.hpp"

namespace hfd {

// Sets of features with a table each, m numbers in every cell, the bit of the first feature the highest in the index
// of a cell. Set j has the features [set_starts[j], set_starts[j + 1]) and its table begins at cell table_starts[j]; it is
// part of block set_block[j], and counts for the targets [target_starts[j], target_starts[j + 1]) with their weights.
struct Tables {
  std::size_t n_sets, n_blocks, n_targets, m;
  const std::int64_t* set_starts;
  const std::int32_t* set_features;
  const std::int32_t* set_block;
  const std::int64_t* table_starts;
  const double* tables;
  const std::int64_t* target_starts;
  const std::int32_t* targets;
  const double* weights;
  const std::int64_t* block_starts;
  const std::int32_t* block_features;  // ascending in every block
};

// out: rows x n_targets x m.
void lookup(const Kernels& kernels, const Rows& rows, const Tables& tables, double* out, int threads, Runtime runtime);

}  // namespace hfd
