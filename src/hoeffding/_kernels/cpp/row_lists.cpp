#include "row_lists.hpp"

#include <algorithm>
#include <bit>

#include "parallel.hpp"

namespace hfd {
namespace {

using Word = std::uint64_t;

constexpr std::size_t kWords = 64;      // of rows that a thread lists at a time
constexpr std::size_t kMostBlocks = 32;  // of rows whose sums are kept apart until the end
constexpr std::size_t kSparing = 4;     // such blocks have so many entries for each number that is kept

// The lists of one block of words, and how long each is.
struct Part {
  std::vector<std::uint32_t> lengths;
  std::vector<std::int32_t> sets;
};

Part list_block(const Rows& rows, const Levels& family, std::size_t first, std::size_t last) {
  const std::size_t n = std::min(rows.rows - std::min(rows.rows, 64 * first), 64 * (last - first));
  Part part;
  part.lengths.assign(n, 0);
  std::vector<std::uint32_t> hit_rows;
  std::vector<std::int32_t> hit_sets;
  std::int32_t number = 0;
  for (std::size_t size = 0; size < family.sets.size(); ++size)
    for (std::size_t j = 0; j < family.counts[size]; ++j, ++number)
      for (std::size_t v = first; v < last; ++v) {
        const std::size_t left = rows.rows - std::min(rows.rows, 64 * v);
        Word word = left >= 64 ? ~Word{0} : (Word{1} << left) - 1;
        for (std::size_t i = 0; i < size && word != 0; ++i)
          word &= rows.columns[static_cast<std::size_t>(family.sets[size][j * size + i]) * rows.words + v];
        for (; word != 0; word &= word - 1) {
          const auto row = static_cast<std::uint32_t>(64 * (v - first)) + static_cast<std::uint32_t>(std::countr_zero(word));
          hit_rows.push_back(row);
          hit_sets.push_back(number);
          ++part.lengths[row];
        }
      }
  std::vector<std::size_t> next(n);
  std::size_t total = 0;
  for (std::size_t row = 0; row < n; ++row) {
    next[row] = total;
    total += part.lengths[row];
  }
  part.sets.resize(total);
  for (std::size_t h = 0; h < total; ++h) part.sets[next[hit_rows[h]]++] = hit_sets[h];
  return part;
}

}  // namespace

RowLists sets_of_rows(const Rows& rows, const Levels& family, int threads, Runtime runtime) {
  const std::size_t words = (rows.rows + 63) / 64;
  std::vector<Part> parts((words + kWords - 1) / kWords);
  parallel_blocks(runtime, threads, words, kWords, [&](std::size_t begin, std::size_t end) {
    parts[begin / kWords] = list_block(rows, family, begin, end);
  });
  RowLists out;
  out.starts.reserve(rows.rows + 1);
  out.starts.push_back(0);
  std::size_t total = 0;
  for (const Part& part : parts) total += part.sets.size();
  out.sets.reserve(total);
  for (Part& part : parts) {
    for (const std::uint32_t length : part.lengths) out.starts.push_back(out.starts.back() + length);
    out.sets.insert(out.sets.end(), part.sets.begin(), part.sets.end());
    part = Part{};
  }
  return out;
}

void gram_product(const RowListsView& lists, const double* diagonal, const double* c, std::size_t r, double* out,
                  int threads, Runtime runtime) {
  // The number of blocks depends on the data only, so that the sums do not depend on the threads.
  const auto entries = static_cast<std::size_t>(lists.starts[lists.rows]);
  const std::size_t blocks = std::clamp(entries / (kSparing * std::max<std::size_t>(r, 1)), std::size_t{1}, kMostBlocks);
  std::vector<double> sums(blocks * r, 0.0);
  parallel_for(runtime, threads, blocks, [&](std::size_t b) {
    if (runtime.stop()) return;
    double* mine = sums.data() + b * r;
    const std::size_t end = lists.rows * (b + 1) / blocks;
    for (std::size_t row = lists.rows * b / blocks; row < end; ++row) {
      const std::int32_t *from = lists.sets + lists.starts[row], *to = lists.sets + lists.starts[row + 1];
      double f = 0.0;
      for (const std::int32_t* s = from; s < to; ++s) f += c[*s];
      if (diagonal != nullptr) f *= diagonal[row];
      for (const std::int32_t* s = from; s < to; ++s) mine[*s] += f;
    }
  });
  for (std::size_t s = 0; s < r; ++s) {
    double total = 0.0;
    for (std::size_t b = 0; b < blocks; ++b) total += sums[b * r + s];
    out[s] = total;
  }
}

}  // namespace hfd
