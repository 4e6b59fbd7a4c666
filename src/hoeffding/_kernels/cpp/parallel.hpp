// Loops shared between threads, for the parts that are compiled once.
#pragma once

#include <algorithm>

#include "runtime.hpp"

namespace hfd {

// body(i) for i = 0 .. count - 1, shared between threads.
template <class Body>
void parallel_for(Runtime runtime, int threads, std::size_t count, Body body) {
  runtime.for_each(
      threads, count, [](void* data, std::size_t i) { (*static_cast<Body*>(data))(i); }, &body);
}

// The same for ranges [begin, end) of up to `block` items.
template <class Body>
void parallel_blocks(Runtime runtime, int threads, std::size_t count, std::size_t block, Body body) {
  parallel_for(runtime, threads, (count + block - 1) / block, [&](std::size_t k) {
    if (!runtime.stop()) body(k * block, std::min(count, (k + 1) * block));
  });
}

}  // namespace hfd
