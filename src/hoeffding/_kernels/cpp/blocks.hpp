// Few blocks of features such that every set lies in one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hfd {

// Sets of features: set j has the features [starts[j], starts[j + 1]).
struct Sets {
  std::size_t count;
  const std::int64_t* starts;
  const std::int32_t* features;
};

// out[j]: the block of set j. Blocks have up to `largest` of the d features; more only if a set alone has more.
void blocks_of_sets(const Sets& sets, std::size_t d, std::size_t largest, std::int32_t* out);

}  // namespace hfd
