// The parity of a set that is not shattered, as a combination of psi_T over its shattered subsets T.
#pragma once

#include <cstddef>

#include "runtime.hpp"

namespace hfd {

// p: count tables of `cells` probabilities. out: for each, the coefficients c_T of the subsets T (as indices of indicator
// vectors, like cells) with chi_S = sum_T c_T psi_T on the cells that have positive probability, of all these
// combinations the one of least sum_T c_T^2 |psi_T|^2; zero where T is not shattered.
void least_norm(const double* p, std::size_t count, std::size_t cells, double* out, int threads, Runtime runtime);

}  // namespace hfd
