// Which sets of coordinates are shattered: X_S takes all 2^|S| values on the support.
#pragma once

#include "runtime.hpp"

namespace hfd {

// Candidate sets of one size, judged on bit-packed rows. columns: d x words, row r at bit r % 64 of word r / 64.
struct Candidates {
  const std::uint64_t* columns;
  std::size_t words, rows;
  const std::int64_t* sets;  // count x size
  std::size_t count;
  int size;
};

// shattered[j] = 1 if the rows take all patterns on candidate j, else 0.
void judge_candidates(const Candidates& candidates, std::uint8_t* shattered, int threads, Runtime runtime);

// All shattered sets of a support given as a table of 2^d bytes (0 or 1): shattered[S] = 0 or 1, S as in isa.hpp.
// The family is grown depth first; nothing above a set that is not shattered is visited.
void shattered_in_table(const std::uint8_t* support, int d, std::uint8_t* shattered, Runtime runtime);

}  // namespace hfd
