#include "lookup.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace hfd {
namespace {

constexpr std::size_t kCached = std::size_t{1} << 16;  // sums of a chunk of rows: half a megabyte
constexpr std::size_t kHeld = std::size_t{1} << 23;    // entries of blocks at the same time: 64 megabytes

// The sums of the tables of one block: for each target it touches and each of m outputs, a table over its cells.
struct Block {
  std::vector<std::int32_t> features, targets;
  std::vector<double> tables;  // targets x m x cells

  std::size_t cells() const { return std::size_t{1} << features.size(); }
};

// For every cell of the block the cell of a set of some of its features.
void cells_of(const Block& block, const std::int32_t* set, std::size_t size, std::vector<std::uint32_t>& out) {
  out.assign(block.cells(), 0);
  std::size_t known = 1;  // cells done, from the last feature (the lowest bit) upwards
  std::size_t next = size;
  std::uint32_t bit = 1;
  for (std::size_t i = block.features.size(); i-- > 0;) {
    const bool member = next > 0 && set[next - 1] == block.features[i];
    for (std::size_t z = 0; z < known; ++z) out[known + z] = out[z] + (member ? bit : 0);
    if (member) {
      --next;
      bit *= 2;
    }
    known *= 2;
  }
}

Block build(const Tables& t, const std::int64_t* sets, std::size_t count, std::size_t b) {
  Block block;
  block.features.assign(t.block_features + t.block_starts[b], t.block_features + t.block_starts[b + 1]);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t j = static_cast<std::size_t>(sets[k]);
    block.targets.insert(block.targets.end(), t.targets + t.target_starts[j], t.targets + t.target_starts[j + 1]);
  }
  std::sort(block.targets.begin(), block.targets.end());
  block.targets.erase(std::unique(block.targets.begin(), block.targets.end()), block.targets.end());
  const std::size_t cells = block.cells();
  block.tables.assign(block.targets.size() * t.m * cells, 0.0);
  std::vector<std::uint32_t> cell;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t j = static_cast<std::size_t>(sets[k]);
    cells_of(block, t.set_features + t.set_starts[j], static_cast<std::size_t>(t.set_starts[j + 1] - t.set_starts[j]),
             cell);
    const double* table = t.tables + static_cast<std::size_t>(t.table_starts[j]) * t.m;
    for (std::int64_t e = t.target_starts[j]; e < t.target_starts[j + 1]; ++e) {
      const auto at = std::lower_bound(block.targets.begin(), block.targets.end(), t.targets[e]);
      double* sums = block.tables.data() + static_cast<std::size_t>(at - block.targets.begin()) * t.m * cells;
      for (std::size_t o = 0; o < t.m; ++o)
        for (std::size_t z = 0; z < cells; ++z) sums[o * cells + z] += t.weights[e] * table[cell[z] * t.m + o];
    }
  }
  return block;
}

// The sets of every block: those of block b are order[first[b]], ..., order[first[b + 1] - 1].
struct Grouped {
  std::vector<std::int64_t> first, order;

  explicit Grouped(const Tables& t) : first(t.n_blocks + 1, 0), order(t.n_sets) {
    for (std::size_t j = 0; j < t.n_sets; ++j) ++first[static_cast<std::size_t>(t.set_block[j]) + 1];
    for (std::size_t b = 0; b < t.n_blocks; ++b) first[b + 1] += first[b];
    std::vector<std::int64_t> next(first.begin(), first.end() - 1);
    for (std::size_t j = 0; j < t.n_sets; ++j)
      order[static_cast<std::size_t>(next[static_cast<std::size_t>(t.set_block[j])]++)] = static_cast<std::int64_t>(j);
  }

  std::size_t size(std::size_t b) const { return static_cast<std::size_t>(first[b + 1] - first[b]); }
};

// At most so many numbers of block b.
std::size_t most_numbers(const Tables& t, const Grouped& sets, std::size_t b) {
  std::size_t entries = 0;
  for (std::int64_t k = sets.first[b]; k < sets.first[b + 1]; ++k) {
    const std::size_t j = static_cast<std::size_t>(sets.order[static_cast<std::size_t>(k)]);
    entries += static_cast<std::size_t>(t.target_starts[j + 1] - t.target_starts[j]);
  }
  return (std::min(entries, t.n_targets) * t.m) << (t.block_starts[b + 1] - t.block_starts[b]);
}

// Words to bytes: `count` rows of one column from row `begin`, a multiple of 64.
void unpack(const std::uint64_t* column, std::size_t begin, std::size_t count, std::uint8_t* out) {
  const std::uint64_t* words = column + begin / 64;
  for (std::size_t r = 0; r < count; ++r) out[r] = static_cast<std::uint8_t>(words[r / 64] >> (r % 64) & 1);
}

// Adds the entries of all blocks at `count` rows to their sums, columns x count.
void add_chunk(const Kernels& kernels, const Rows& rows, std::size_t m, const std::vector<std::uint8_t>& used,
               const std::vector<Block>& blocks, std::size_t begin, std::size_t count, double* sums) {
  std::vector<std::uint8_t> bits(rows.d * count);
  for (std::size_t i = 0; i < rows.d; ++i)
    if (used[i]) unpack(rows.columns + i * rows.words, begin, count, bits.data() + i * count);
  std::vector<std::uint32_t> cell(count);
  for (const Block& block : blocks) {
    kernels.linear->cells(bits.data(), count, block.features.data(), block.features.size(), cell.data());
    const double* table = block.tables.data();
    for (const std::int32_t target : block.targets)
      for (std::size_t o = 0; o < m; ++o, table += block.cells())
        kernels.linear->add_entries(table, cell.data(), count, sums + (static_cast<std::size_t>(target) * m + o) * count);
  }
}

}  // namespace

void lookup(const Kernels& kernels, const Rows& rows, const Tables& t, double* out, int threads, Runtime runtime) {
  const Grouped sets(t);
  const std::size_t columns = t.n_targets * t.m;
  std::vector<std::uint8_t> used(rows.d, 0);
  for (std::int64_t e = 0; e < t.block_starts[t.n_blocks]; ++e) used[static_cast<std::size_t>(t.block_features[e])] = 1;

  // So many rows at a time that their sums stay in the cache. They are kept column by column until all is added.
  const std::size_t chunk = std::clamp<std::size_t>(kCached / std::max<std::size_t>(columns, 1) / 64 * 64, 256, 4096);
  const std::size_t chunks = (rows.rows + chunk - 1) / chunk;
  std::fill(out, out + rows.rows * columns, 0.0);
  std::vector<Block> blocks;
  for (std::size_t begin = 0, end = 0; begin < t.n_blocks && !runtime.stop(); begin = end) {
    for (std::size_t numbers = 0; end < t.n_blocks && (numbers < kHeld || end == begin); ++end)
      numbers += most_numbers(t, sets, end);
    blocks.assign(end - begin, {});
    parallel_blocks(runtime, threads, end - begin, 4, [&](std::size_t from, std::size_t to) {
      for (std::size_t b = from; b < to; ++b)
        blocks[b] = build(t, sets.order.data() + sets.first[begin + b], sets.size(begin + b), begin + b);
    });
    parallel_for(runtime, threads, chunks, [&](std::size_t k) {
      if (!runtime.stop()) add_chunk(kernels, rows, t.m, used, blocks, k * chunk, std::min(chunk, rows.rows - k * chunk), out + k * chunk * columns);
    });
  }
  parallel_for(runtime, threads, chunks, [&](std::size_t k) {
    double* sums = out + k * chunk * columns;
    const std::size_t count = std::min(chunk, rows.rows - k * chunk);
    const std::vector<double> by_column(sums, sums + count * columns);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t c = 0; c < columns; ++c) sums[r * columns + c] = by_column[c * count + r];
  });
}

}  // namespace hfd
