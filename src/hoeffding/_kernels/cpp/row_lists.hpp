// Rows as lists of the sets whose bits are all one in them: the sparse matrix Z, without its ones.
#pragma once

#include <vector>

#include "counting.hpp"

namespace hfd {

// Row r has the sets sets[starts[r]] .. sets[starts[r + 1] - 1], ascending; a set is its place in the family.
struct RowLists {
  std::vector<std::int64_t> starts;
  std::vector<std::int32_t> sets;
};

RowLists sets_of_rows(const Rows& rows, const Levels& family, int threads, Runtime runtime);

// The same, as somebody else's arrays.
struct RowListsView {
  const std::int64_t* starts;
  const std::int32_t* sets;
  std::size_t rows;
};

// out = Z' D Z c for a diagonal D (null: all ones); c and out have one entry for each of r sets.
void gram_product(const RowListsView& lists, const double* diagonal, const double* c, std::size_t r, double* out,
                  int threads, Runtime runtime);

}  // namespace hfd
