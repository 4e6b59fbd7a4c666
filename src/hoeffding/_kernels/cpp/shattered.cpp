#include "shattered.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "isa.hpp"

namespace hfd {
namespace {

using Bits = std::uint64_t;

// The cells of one candidate as the leaves of a binary tree, with the number of leaves not seen yet at every node.
// A word of 64 rows is sent down the tree, split by one column a level, into branches that still miss something.
class Cells {
 public:
  Cells(const Candidates& c, const std::int64_t* set) : c_(c), set_(set), missing_(std::size_t{2} << c.size) {
    for (std::size_t node = 1; node < missing_.size(); ++node) {
      int depth = 0;
      while (node >> (depth + 1)) ++depth;
      missing_[node] = std::uint32_t{1} << (c.size - depth);
    }
  }

  bool all_seen() {
    for (std::size_t w = 0; w < c_.words && missing_[1] > 0; ++w) {
      const std::size_t tail = c_.rows - 64 * w;
      send(1, 0, w, tail >= 64 ? ~Bits{0} : (Bits{1} << tail) - 1);
    }
    return missing_[1] == 0;
  }

 private:
  std::uint32_t send(std::size_t node, int depth, std::size_t w, Bits rows) {  // returns how many cells were new
    if (rows == 0 || missing_[node] == 0) return 0;
    std::uint32_t found = 1;
    if (depth < c_.size) {
      const Bits ones = c_.columns[static_cast<std::size_t>(set_[depth]) * c_.words + w];
      found = send(2 * node, depth + 1, w, rows & ~ones) + send(2 * node + 1, depth + 1, w, rows & ones);
    }
    missing_[node] -= found;
    return found;
  }

  const Candidates& c_;
  const std::int64_t* set_;
  std::vector<std::uint32_t> missing_;
};

// The shattered sets of a support table, depth first: tables[(K, U)] as in cube_kernels.cpp, with "or" for the sum.
struct Growth {
  int d;
  std::uint8_t* shattered;
  Runtime runtime;

  struct Node {
    const std::uint8_t* table;
    std::uint8_t* scratch;  // at least 2^(n + 1) bytes
    int n, k;
    std::size_t kept;
    std::array<std::uint8_t, kMaxCube> position;
  };

  // Is the set at the lowest k positions shattered?
  static bool lowest_shattered(const Node& v, int k) {
    const std::size_t low = std::size_t{1} << k, size = std::size_t{1} << v.n;
    std::memcpy(v.scratch, v.table, low);
    for (std::size_t block = low; block < size; block += low)
      for (std::size_t z = 0; z < low; ++z) v.scratch[z] |= v.table[block + z];
    return std::find(v.scratch, v.scratch + low, 0) == v.scratch + low;
  }

  void visit(const Node& v) {  // the kept set is known to be shattered
    if (v.k == v.n) {
      shattered[v.kept] = 1;
      return;
    }
    if (v.n >= 10 && runtime.stop()) return;
    if (lowest_shattered(v, v.k + 1)) {
      Node keep = v;
      keep.kept |= std::size_t{1} << v.position[static_cast<std::size_t>(v.k)];
      keep.k += 1;
      visit(keep);
    }
    const std::size_t half = std::size_t{1} << (v.n - 1), low = std::size_t{1} << v.k;
    Node drop = v;
    drop.n -= 1;
    drop.position[static_cast<std::size_t>(v.k)] = v.position[static_cast<std::size_t>(v.n - 1)];
    drop.table = v.scratch;
    drop.scratch = v.scratch + half;
    if (v.k == v.n - 1) {
      for (std::size_t z = 0; z < half; ++z) v.scratch[z] = v.table[z] | v.table[z + half];
    } else {
      for (std::size_t block = 0; block < half; block += 2 * low)
        for (std::size_t top = 0; top < 2; ++top) {
          const std::uint8_t* a = v.table + top * half + block;
          std::uint8_t* out = v.scratch + block + top * low;
          for (std::size_t z = 0; z < low; ++z) out[z] = a[z] | a[z + low];
        }
    }
    visit(drop);
  }
};

}  // namespace

void judge_candidates(const Candidates& candidates, std::uint8_t* shattered, int threads, Runtime runtime) {
  struct Job {
    const Candidates& candidates;
    std::uint8_t* shattered;
    Runtime runtime;
  } job{candidates, shattered, runtime};
  runtime.for_each(
      threads, candidates.count,
      [](void* data, std::size_t j) {
        auto& [c, out, rt] = *static_cast<Job*>(data);
        if (!rt.stop()) out[j] = Cells(c, c.sets + j * static_cast<std::size_t>(c.size)).all_seen();
      },
      &job);
}

void shattered_in_table(const std::uint8_t* support, int d, std::uint8_t* shattered, Runtime runtime) {
  const std::size_t size = std::size_t{1} << d;
  std::fill(shattered, shattered + size, std::uint8_t{0});
  if (std::find(support, support + size, 1) == support + size) return;
  std::vector<std::uint8_t> scratch(2 * size);
  Growth::Node root{support, scratch.data(), d, 0, 0, {}};
  for (int b = 0; b < d; ++b) root.position[static_cast<std::size_t>(b)] = static_cast<std::uint8_t>(b);
  Growth{d, shattered, runtime}.visit(root);
}

}  // namespace hfd
