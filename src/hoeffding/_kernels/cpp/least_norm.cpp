#include "least_norm.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include "parallel.hpp"

namespace hfd {
namespace {

double chi(std::size_t z) { return std::popcount(z) % 2 == 1 ? -1.0 : 1.0; }

// Column-major r x n with n <= r and full column rank; after `factor` its columns hold Householder vectors (unit first
// entry not stored) below the diagonal and R on and above it.
struct QR {
  std::size_t r, n;
  std::vector<double> a, tau;

  double* column(std::size_t j) { return a.data() + j * r; }

  void reflect(std::size_t j, double* x) {  // x -= tau v v'x with v = (1, column j below the diagonal)
    const double* v = column(j);
    double dot = x[j];
    for (std::size_t i = j + 1; i < r; ++i) dot += v[i] * x[i];
    dot *= tau[j];
    x[j] -= dot;
    for (std::size_t i = j + 1; i < r; ++i) x[i] -= dot * v[i];
  }

  void factor() {
    tau.assign(n, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
      double* v = column(j);
      double below = 0.0;
      for (std::size_t i = j + 1; i < r; ++i) below += v[i] * v[i];
      if (below > 0.0) {
        const double norm = std::sqrt(v[j] * v[j] + below), diagonal = v[j] > 0.0 ? -norm : norm;
        const double first = v[j] - diagonal;
        for (std::size_t i = j + 1; i < r; ++i) v[i] /= first;
        tau[j] = -first / diagonal;
        v[j] = diagonal;
      }
      for (std::size_t k = j + 1; k < n; ++k) reflect(j, column(k));
    }
  }

  // The x of least norm with A'x = b: R'y = b, x = Q (y, 0). b has n entries, x has r.
  void solve(const double* b, double* x) {
    for (std::size_t i = 0; i < r; ++i) x[i] = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      double y = b[j];
      for (std::size_t i = 0; i < j; ++i) y -= column(j)[i] * x[i];
      x[j] = y / column(j)[j];
    }
    for (std::size_t j = n; j-- > 0;) reflect(j, x);
  }
};

class LeastNorm {
 public:
  LeastNorm(const double* p, std::size_t cells) : p_(p), cells_(cells) {}

  void run(double* out) {
    std::vector<std::size_t> seen;
    for (std::size_t z = 0; z < cells_; ++z)
      if (p_[z] > 0.0) seen.push_back(z);
    list_columns(seen);
    QR qr{sets_.size(), seen.size(), {}, {}};
    qr.a.resize(qr.r * qr.n);
    std::vector<double> b(seen.size()), x(sets_.size());
    for (std::size_t j = 0; j < seen.size(); ++j) {
      const double root = std::sqrt(p_[seen[j]]);
      for (std::size_t i = 0; i < sets_.size(); ++i) qr.column(j)[i] = root * unit_psi_[i * seen.size() + j];
      b[j] = root * chi(seen[j]);
    }
    qr.factor();
    qr.solve(b.data(), x.data());
    for (std::size_t T = 0; T < cells_; ++T) out[T] = 0.0;
    for (std::size_t i = 0; i < sets_.size(); ++i) out[sets_[i]] = x[i] / norms_[i];
  }

 private:
  const double* p_;
  std::size_t cells_;
  std::vector<std::size_t> sets_;       // the shattered subsets
  std::vector<double> norms_, unit_psi_;  // |psi_T|, and psi_T / |psi_T| at the cells seen

  void list_columns(const std::vector<std::size_t>& seen) {
    std::vector<double> p_T(cells_);
    for (std::size_t T = 0; T < cells_; ++T) {
      for (std::size_t z = 0; z < cells_; ++z) p_T[z] = 0.0;
      for (const std::size_t z : seen) p_T[z & T] += p_[z];
      double inverse = 0.0;
      bool shattered = true;
      for (std::size_t z = T;; z = (z - 1) & T) {
        shattered = shattered && p_T[z] > 0.0;
        if (!shattered) break;
        inverse += 1.0 / p_T[z];
        if (z == 0) break;
      }
      if (!shattered) continue;
      const double n_cells = std::exp2(std::popcount(T)), norm = std::sqrt(inverse) / n_cells;
      sets_.push_back(T);
      norms_.push_back(norm);
      for (const std::size_t z : seen) unit_psi_.push_back(chi(z & T) / (n_cells * p_T[z & T] * norm));
    }
  }
};

}  // namespace

void least_norm(const double* p, std::size_t count, std::size_t cells, double* out, int threads, Runtime runtime) {
  parallel_blocks(runtime, threads, count, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) LeastNorm(p + j * cells, cells).run(out + j * cells);
  });
}

}  // namespace hfd
