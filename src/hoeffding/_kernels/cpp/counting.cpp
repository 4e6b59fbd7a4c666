#include "counting.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "parallel.hpp"

namespace hfd {
namespace {

using Word = std::uint64_t;

constexpr std::size_t kBlock = 256;  // sets a thread takes at a time

// The rows of one set: all words, or only those that are not zero once these are few.
struct RowSet {
  const Word* dense = nullptr;
  std::vector<Word> storage;               // dense words, or the words listed
  std::vector<std::uint32_t> listed;       // positions of the listed words
  bool sparse = false;
};

// A closed family as a tree: the children of a set are the sets that continue it by one feature.
class Trie {
 public:
  explicit Trie(const Levels& family) : sets_(family.sets), singles_(family.counts.size() > 1 ? family.counts[1] : 0) {
    for (std::size_t size = 1; size + 1 < family.sets.size(); ++size) {
      const std::int32_t *parents = family.sets[size], *sets = family.sets[size + 1];
      std::vector<std::size_t> first{0};
      std::size_t child = 0;
      for (std::size_t j = 0; j < family.counts[size]; ++j) {
        while (child < family.counts[size + 1] &&
               std::equal(parents + j * size, parents + (j + 1) * size, sets + child * (size + 1)))
          ++child;
        first.push_back(child);
      }
      first_child_.push_back(std::move(first));
    }
  }

  std::size_t begin(int size, std::size_t set) const { return first_child_[static_cast<std::size_t>(size - 1)][set]; }
  std::size_t end(int size, std::size_t set) const { return begin(size, set + 1); }
  std::int32_t last(int size, std::size_t set) const {
    const auto width = static_cast<std::size_t>(size);
    return sets_[width][set * width + width - 1];
  }

  // The set that continues this one (of that size) by a feature above all of its own, or -1.
  std::int64_t child(int size, std::size_t set, std::int32_t feature) const {
    std::size_t low = size == 0 ? 0 : begin(size, set), high = size == 0 ? singles_ : end(size, set);
    if (low == high || feature < last(size + 1, low)) return -1;
    const std::size_t guess = low + static_cast<std::size_t>(feature - last(size + 1, low));  // if no feature is missing
    if (guess < high && last(size + 1, guess) == feature) return static_cast<std::int64_t>(guess);
    high = std::min(high, guess);
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (last(size + 1, middle) < feature)
        low = middle + 1;
      else
        high = middle;
    }
    return low < (size == 0 ? singles_ : end(size, set)) && last(size + 1, low) == feature
               ? static_cast<std::int64_t>(low) : -1;
  }

 private:
  std::vector<const std::int32_t*> sets_;
  std::size_t singles_;
  std::vector<std::vector<std::size_t>> first_child_;
};

class Counter {
 public:
  Counter(const Kernels& kernels, const Rows& rows, const Weights& weights, const Trie* only, int max_size,
          int target_size, Runtime runtime)
      : kernels_(kernels), r_(rows), w_(weights), only_(only), max_size_(max_size), target_size_(target_size),
        runtime_(runtime),
        levels(static_cast<std::size_t>(max_size)), path_(static_cast<std::size_t>(max_size)),
        stack_(static_cast<std::size_t>(max_size)) {}

  // All sets that begin with this feature, or with this set of size one.
  void run(std::size_t root) {
    const std::int32_t first = only_ == nullptr ? static_cast<std::int32_t>(root) : only_->last(1, root);
    RowSet& rows = stack_[0];
    rows.dense = column(first);
    const std::uint64_t count = kernels_.linear->and_count(rows.dense, rows.dense, nullptr, r_.words);
    if (count == 0) return;
    path_[0] = first;
    record(1, rows, count);
    if (max_size_ > 1) extend(1, first, root, rows);
  }

 private:
  const Kernels& kernels_;
  const Rows& r_;
  const Weights& w_;
  const Trie* only_;
  int max_size_, target_size_;
  Runtime runtime_;

 public:
  std::vector<LevelSums> levels;

 private:
  std::vector<std::int32_t> path_;
  std::vector<RowSet> stack_;

  const Word* column(std::int32_t i) const { return r_.columns + static_cast<std::size_t>(i) * r_.words; }

  void extend(int size, std::int32_t last, std::size_t set, const RowSet& parent) {
    if (only_ == nullptr)
      for (std::int32_t j = last + 1; j < static_cast<std::int32_t>(r_.d) && !runtime_.stop(); ++j)
        visit(size, j, 0, parent);
    else
      for (std::size_t c = only_->begin(size, set); c < only_->end(size, set) && !runtime_.stop(); ++c)
        visit(size, only_->last(size + 1, c), c, parent);
  }

  void visit(int size, std::int32_t j, std::size_t set, const RowSet& parent) {
    RowSet& rows = stack_[static_cast<std::size_t>(size)];
    const std::uint64_t count = intersect(parent, column(j), size + 1, rows);
    if (count == 0) return;
    path_[static_cast<std::size_t>(size)] = j;
    record(size + 1, rows, count);
    if (size + 1 < max_size_) extend(size + 1, j, set, rows);
  }

  // The rows of the parent where the column is one; kept only if somebody needs them.
  std::uint64_t intersect(const RowSet& parent, const Word* column, int size, RowSet& out) const {
    const bool kept = size < max_size_ || size <= target_size_ || w_.real != nullptr || w_.n_planes > 0;
    if (parent.sparse) return intersect_listed(parent, column, kept, out);
    out.sparse = false;
    if (!kept) return kernels_.linear->and_count(parent.dense, column, nullptr, r_.words);
    out.storage.resize(r_.words);
    const std::uint64_t count = kernels_.linear->and_count(parent.dense, column, out.storage.data(), r_.words);
    out.dense = out.storage.data();
    if (2 * count < r_.words) list(out);
    return count;
  }

  static std::uint64_t intersect_listed(const RowSet& parent, const Word* column, bool kept, RowSet& out) {
    std::uint64_t count = 0;
    out.sparse = true;
    out.listed.clear();
    out.storage.clear();
    for (std::size_t t = 0; t < parent.listed.size(); ++t) {
      const Word word = parent.storage[t] & column[parent.listed[t]];
      if (word == 0) continue;
      count += static_cast<std::uint64_t>(std::popcount(word));
      if (kept) {
        out.listed.push_back(parent.listed[t]);
        out.storage.push_back(word);
      }
    }
    return count;
  }

  static void list(RowSet& rows) {
    rows.sparse = true;
    rows.listed.clear();
    for (std::size_t v = 0; v < rows.storage.size(); ++v)
      if (rows.storage[v] != 0) {
        rows.storage[rows.listed.size()] = rows.storage[v];
        rows.listed.push_back(static_cast<std::uint32_t>(v));
      }
    rows.storage.resize(rows.listed.size());
  }

  template <class Body>
  void for_words(const RowSet& rows, Body body) const {
    if (rows.sparse)
      for (std::size_t t = 0; t < rows.listed.size(); ++t) body(rows.listed[t], rows.storage[t]);
    else
      for (std::size_t v = 0; v < r_.words; ++v) body(v, rows.dense[v]);
  }

  double sum(const RowSet& rows, const double* values) const {
    double total = 0.0;
    for_words(rows, [&](std::size_t v, Word word) {
      const double* block = values + 64 * v;
      for (; word != 0; word &= word - 1) total += block[std::countr_zero(word)];
    });
    return total;
  }

  void record(int size, const RowSet& rows, std::uint64_t count) {
    LevelSums& level = levels[static_cast<std::size_t>(size - 1)];
    level.sets.insert(level.sets.end(), path_.begin(), path_.begin() + size);
    if (w_.n_planes > 0) {
      count = 0;
      for (std::size_t b = 0; b < w_.n_planes; ++b) {
        std::uint64_t in_plane = 0;
        for_words(rows, [&](std::size_t v, Word word) {
          in_plane += static_cast<std::uint64_t>(std::popcount(word & w_.planes[b * r_.words + v]));
        });
        count += in_plane << b;
      }
    }
    level.counts.push_back(static_cast<std::int64_t>(count));
    if (w_.real != nullptr) level.weights.push_back(sum(rows, w_.real));
    if (size <= target_size_)
      for (std::size_t o = 0; o < w_.m; ++o) level.targets.push_back(sum(rows, w_.targets + o * r_.rows));
  }
};

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::vector<LevelSums> sum_over_sets(const Kernels& kernels, const Rows& rows, const Weights& weights,
                                     const Levels* only, int max_size, int target_size, int threads, Runtime runtime) {
  std::optional<Trie> trie;
  if (only != nullptr) trie.emplace(*only);
  const std::size_t n_roots = only == nullptr ? rows.d : only->counts.size() > 1 ? only->counts[1] : 0;
  std::vector<std::vector<LevelSums>> parts(n_roots);
  parallel_for(runtime, threads, n_roots, [&](std::size_t root) {
    Counter counter(kernels, rows, weights, trie ? &*trie : nullptr, max_size, target_size, runtime);
    counter.run(root);
    parts[root] = std::move(counter.levels);
  });
  std::vector<LevelSums> out(static_cast<std::size_t>(max_size));
  for (const auto& part : parts)
    for (std::size_t s = 0; s < part.size(); ++s) {
      append(out[s].sets, part[s].sets);
      append(out[s].counts, part[s].counts);
      append(out[s].weights, part[s].weights);
      append(out[s].targets, part[s].targets);
    }
  return out;
}

void pack_columns(const std::uint8_t* rows, std::size_t n, std::size_t d, std::uint64_t* columns, std::size_t words) {
  constexpr std::size_t kTogether = 8;  // words of a column that are written at once: a line of the cache
  std::vector<std::uint8_t> bytes(8 * d);  // of the 64 rows of a word, eight to a byte
  std::vector<Word> together(kTogether * d);
  for (std::size_t begin = 0; begin < words; begin += kTogether) {
    const std::size_t end = std::min(words, begin + kTogether);
    for (std::size_t v = begin; v < end; ++v) {
      std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
      for (std::size_t b = 0; b < 8; ++b) {
        std::uint8_t* byte = bytes.data() + b * d;
        const std::size_t first = 64 * v + 8 * b;
        for (std::size_t r = std::min(n, first + 8); r > first; --r) {
          const std::uint8_t* row = rows + (r - 1) * d;
          for (std::size_t i = 0; i < d; ++i) byte[i] = static_cast<std::uint8_t>(byte[i] + byte[i] + row[i]);
        }
      }
      for (std::size_t i = 0; i < d; ++i) {
        Word word = 0;
        for (std::size_t b = 0; b < 8; ++b) word |= static_cast<Word>(bytes[b * d + i]) << (8 * b);
        together[i * kTogether + (v - begin)] = word;
      }
    }
    for (std::size_t i = 0; i < d; ++i)
      std::copy_n(together.data() + i * kTogether, end - begin, columns + i * words + begin);
  }
}

void union_matrix(const Levels& family, const Levels& occurring, const std::vector<const double*>& values, double* M,
                  int threads, Runtime runtime) {
  const std::size_t order = family.sets.size() - 1;
  std::vector<std::size_t> starts{0};
  for (const std::size_t count : family.counts) starts.push_back(starts.back() + count);
  const std::size_t r = starts.back();

  const Trie trie(family);
  // All entries whose union is this set.
  using Places = std::vector<std::int64_t>;
  const auto enter = [&](const std::int32_t* set, std::size_t size, double value, Places& place, Places& position) {
    // For each part of the set, its place among those of its size and among all; a part extends one that lacks its last.
    place.assign(std::size_t{1} << size, -1);
    position.assign(std::size_t{1} << size, -1);
    place[0] = position[0] = 0;
    for (std::size_t mask = 1; mask < position.size(); ++mask) {
      const auto n = static_cast<std::size_t>(std::popcount(mask));
      const auto top = static_cast<std::size_t>(std::bit_width(mask) - 1);
      const std::int64_t parent = place[mask ^ (std::size_t{1} << top)];
      if (n > order || parent < 0) continue;
      place[mask] = trie.child(static_cast<int>(n) - 1, static_cast<std::size_t>(parent), set[top]);
      if (place[mask] >= 0) position[mask] = static_cast<std::int64_t>(starts[n]) + place[mask];
    }
    const std::size_t all = position.size() - 1;
    for (std::size_t a = 0; a <= all; ++a) {
      if (position[a] < 0) continue;
      const std::size_t rest = all & ~a;
      for (std::size_t extra = a;; extra = (extra - 1) & a) {  // b = what a lacks, and any part of a
        const std::int64_t b = position[rest | extra];
        if (b >= 0) M[static_cast<std::size_t>(position[a]) * r + static_cast<std::size_t>(b)] = value;
        if (extra == 0) break;
      }
    }
  };

  for (std::size_t size = 0; size < occurring.sets.size(); ++size)
    parallel_blocks(runtime, threads, occurring.counts[size], kBlock, [&](std::size_t begin, std::size_t end) {
      Places place, position;
      for (std::size_t j = begin; j < end; ++j)
        enter(occurring.sets[size] + j * size, size, values[size][j], place, position);
    });
}

}  // namespace hfd
