#include "blocks.hpp"

#include <algorithm>

namespace hfd {
namespace {

// A set counts for each feature of it that the block lacks, the more the fewer these are.
double worth(std::size_t missing) {
  double w = 1.0;
  for (; missing > 1 && w > 0.0; --missing) w /= 16.0;
  return w;
}

class Greedy {
 public:
  Greedy(const Sets& sets, std::size_t d) : sets_(sets), with_(d), missing_(sets.count), member_(d), gain_(d) {
    for (std::size_t j = 0; j < sets.count; ++j) {
      missing_[j] = size(j);
      for (std::int64_t e = sets.starts[j]; e < sets.starts[j + 1]; ++e)
        with_[static_cast<std::size_t>(sets.features[e])].push_back(j);
    }
  }

  // A block around one set; marks the sets that lie in it.
  void grow(std::size_t seed, std::size_t largest, std::int32_t number, std::int32_t* out) {
    std::vector<std::size_t> block;
    for (std::int64_t e = sets_.starts[seed]; e < sets_.starts[seed + 1]; ++e)
      add(static_cast<std::size_t>(sets_.features[e]), block, out);
    while (block.size() < largest) {
      const std::size_t best = best_feature();
      if (best == gain_.size()) break;
      add(best, block, out);
    }
    for (const std::size_t j : touched_) {
      if (missing_[j] == 0) out[j] = number;
      missing_[j] = size(j);
    }
    touched_.clear();
    for (const std::size_t i : block) member_[i] = 0;
    std::fill(gain_.begin(), gain_.end(), 0.0);
  }

 private:
  std::size_t size(std::size_t j) const { return static_cast<std::size_t>(sets_.starts[j + 1] - sets_.starts[j]); }

  std::size_t best_feature() const {
    std::size_t best = gain_.size();
    double most = 0.0;
    for (std::size_t i = 0; i < gain_.size(); ++i)
      if (!member_[i] && gain_[i] > most) {
        most = gain_[i];
        best = i;
      }
    return best;
  }

  void add(std::size_t i, std::vector<std::size_t>& block, const std::int32_t* out) {
    member_[i] = 1;
    block.push_back(i);
    auto& sets = with_[i];
    sets.erase(std::remove_if(sets.begin(), sets.end(), [&](std::size_t j) { return out[j] >= 0; }), sets.end());
    for (const std::size_t j : sets) {
      double change = worth(missing_[j] - 1);
      if (missing_[j] == size(j))
        touched_.push_back(j);
      else
        change -= worth(missing_[j]);
      --missing_[j];
      for (std::int64_t e = sets_.starts[j]; e < sets_.starts[j + 1]; ++e)
        gain_[static_cast<std::size_t>(sets_.features[e])] += change;
    }
  }

  const Sets& sets_;
  std::vector<std::vector<std::size_t>> with_;  // the sets with a feature that are in no block yet
  std::vector<std::size_t> missing_;            // how many features of a set the block lacks
  std::vector<std::size_t> touched_;            // sets of which the block has a feature
  std::vector<char> member_;
  std::vector<double> gain_;
};

}  // namespace

void blocks_of_sets(const Sets& sets, std::size_t d, std::size_t largest, std::int32_t* out) {
  std::fill(out, out + sets.count, -1);
  Greedy greedy(sets, d);
  std::int32_t number = 0;
  for (std::size_t j = 0; j < sets.count; ++j)
    if (out[j] < 0 && sets.starts[j] < sets.starts[j + 1]) greedy.grow(j, largest, number++, out);
  std::replace(out, out + sets.count, std::int32_t{-1}, std::int32_t{0});  // empty sets
}

}  // namespace hfd
