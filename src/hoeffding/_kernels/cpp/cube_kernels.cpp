// The generalized Fourier transform on the cube, by the triangular recursion, in place.
//
//   psi_S = chi_S / (2^|S| p_S),      f = sum_S beta_S psi_S.
//
// Let r(S) be the parity coefficient at S of what is left of f once the terms of all supersets of S are taken away.
// Then beta_S = r(S) / W_S, with W_S the mean of 1 / (2^|S| p_S) over the cells of S. The subsets are visited depth
// first, coordinate by coordinate, "keep" before "drop": every superset of S comes before S.
//
// What is left of f is never transformed as a whole. At a node where K is kept, D dropped and U undecided, the table
// g holds, for each cell of (K, U), its sum over the cells of D. To drop a coordinate, the halves (a, b) become
// (a + b, a - b); the subtree works on the first half; then (s, t) goes back to ((s + t)/2, (s - t)/2). A leaf needs
// one signed sum of g and one sum of 1/p, and subtracts a multiple of chi/p. That is O(3^d) operations without a
// factor d; g is one array of 2^d, and the marginals along the current path take less than 2^d more.
//
// Kept coordinates sit at the low positions of a table and the next one to decide at position k right above them,
// so that loops run over 2^k neighbours. When it is dropped, the coordinate at the top position takes its place.
//
// Large nodes decide two coordinates i, j at once: {i, j} comes first, {} last, and "i without j" and "j without i"
// do not need each other: they may run in two threads. The second starts from zero at frequency 0 of j, and
// what it has put there is added afterwards. So the order of all operations is fixed, whatever the number of threads.

#include "isa.hpp"
#include "tiles.hpp"

#include <cstdlib>

namespace hfd {
namespace HFD_ISA {
namespace {

// Reciprocals are scaled by 2^-80: sums of 1/p stay finite for every positive p, subnormal numbers included,
// and an infinite sum means an unobserved cell.
constexpr double kScale = 0x1p-80;
constexpr double kUnscale = 0x1p+80;

// Nodes with at least this many table entries below them are decided two coordinates at a time, by two threads if
// there are more; not the two largest sizes, so that the tables of a second path stay within about one array of 2^d.
constexpr double kQuadWork = 1 << 18;

inline Index cells(int n) { return Index{1} << n; }

inline double power_of_two(int e) {
  double x = 1.0;
  for (; e > 0; --e) x *= 2.0;
  for (; e < 0; ++e) x *= 0.5;
  return x;
}

// Table entries visited below a node with k kept and u undecided coordinates: 2^k 3^u.
inline double work(int k, int u) {
  double w = power_of_two(k);
  for (; u > 0; --u) w *= 3.0;
  return w;
}

inline bool decides_two(int d, int n, int k) { return n <= d - 2 && n - k >= 3 && work(k, n - k) >= kQuadWork; }

inline int first_share(int threads) { return (threads + 1) / 2; }

// Doubles of scratch below a node of n coordinates (the worst case over k).
Index scratch_below(const Cube& cube, int n, int threads) {
  if (work(0, n) < kQuadWork) return cells(n);
  if (n > cube.d - 2) return cells(n - 1) + scratch_below(cube, n - 1, threads);
  const Index half = cells(n - 1);
  if (threads > 1)
    return cube.m * half + 2 * (half + scratch_below(cube, n - 1, first_share(threads)));
  return (cube.m + 1) * half + scratch_below(cube, n - 1, threads);
}

// The coordinate at each position of a table.
struct Positions {
  unsigned char at[kMaxCube];
  Positions without(int position, int n) const {  // the top position moves into the gap
    Positions next = *this;
    next.at[position] = at[n - 1];
    return next;
  }
};

// ---------------------------------------------------------------------------------------------------------------
// One step down or up: position q of a table of n coordinates is dropped.

// dst = the table summed over position q; the top position moves to q.
void drop(const double* src, double* dst, int n, int q) {
  const Index low = cells(q);
  if (q == n - 1) {
    for (Index z = 0; z < low; ++z) dst[z] = src[z] + src[z + low];
    return;
  }
  const Index half = cells(n - 1);
  for (Index block = 0; block < half; block += 2 * low)
    for (Index top = 0; top < 2; ++top) {
      const double* a = src + top * half + block;
      double* out = dst + block + top * low;
      for (Index z = 0; z < low; ++z) out[z] = a[z] + a[z + low];
    }
}

// In place: sums over position q to the first half (laid out as by drop), differences to the second.
void split(double* g, int n, int q) {
  const Index low = cells(q), half = cells(n - 1);
  if (q == n - 1) {
    for (Index z = 0; z < half; ++z) {
      const double a = g[z], b = g[z + half];
      g[z] = a + b;
      g[z + half] = a - b;
    }
    return;
  }
  for (Index block = 0; block < half; block += 2 * low) {
    double *g00 = g + block, *g01 = g00 + low, *g10 = g00 + half, *g11 = g10 + low;
    for (Index z = 0; z < low; ++z) {
      const double a0 = g00[z], b0 = g01[z], a1 = g10[z], b1 = g11[z];
      g00[z] = a0 + b0;
      g01[z] = a1 + b1;
      g10[z] = a0 - b0;
      g11[z] = a1 - b1;
    }
  }
}

// Undoes split.
void merge(double* g, int n, int q) {
  const Index low = cells(q), half = cells(n - 1);
  if (q == n - 1) {
    for (Index z = 0; z < half; ++z) {
      const double s = g[z], t = g[z + half];
      g[z] = 0.5 * (s + t);
      g[z + half] = 0.5 * (s - t);
    }
    return;
  }
  for (Index block = 0; block < half; block += 2 * low) {
    double *g00 = g + block, *g01 = g00 + low, *g10 = g00 + half, *g11 = g10 + low;
    for (Index z = 0; z < low; ++z) {
      const double s0 = g00[z], s1 = g01[z], t0 = g10[z], t1 = g11[z];
      g00[z] = 0.5 * (s0 + t0);
      g01[z] = 0.5 * (s0 - t0);
      g10[z] = 0.5 * (s1 + t1);
      g11[z] = 0.5 * (s1 - t1);
    }
  }
}

// For two coordinates i, j at positions q, q + 1, to be decided together (see visit_two).

// dst = the table summed over position q; position q + 1 moves to q and the top position to q + 1.
void drop_before(const double* src, double* dst, int n, int q) {
  const Index low = cells(q), half = cells(n - 1);
  for (Index block = 0; block < half; block += 4 * low)
    for (Index top = 0; top < 2; ++top)
      for (Index xj = 0; xj < 2; ++xj) {
        const double* a = src + top * half + block + xj * 2 * low;
        double* out = dst + block + top * 2 * low + xj * low;
        for (Index z = 0; z < low; ++z) out[z] = a[z] + a[z + low];
      }
}

// t = the difference at j, with i at position q. dst, with j in place of i: t summed over i, as (t/2, -t/2).
void half_difference(const double* t, double* dst, int n, int q) {
  const Index low = cells(q), count = cells(n);
  for (Index block = 0; block < count; block += 2 * low)
    for (Index z = block; z < block + low; ++z) {
      const double h = 0.5 * (t[z] + t[z + low]);
      dst[z] = h;
      dst[z + low] = -h;
    }
}

// src = what became of dst of half_difference: its sum over j is added to s, its difference replaces t summed over i.
void add_back(const double* src, double* s, double* t, int n, int q) {
  const Index low = cells(q), count = cells(n);
  for (Index block = 0; block < count; block += 2 * low)
    for (Index z = block; z < block + low; ++z) {
      const double sum = 0.5 * (src[z] + src[z + low]);
      s[z] += sum;
      s[z + low] += sum;
      const double total = src[z] - src[z + low], difference = t[z] - t[z + low];
      t[z] = 0.5 * (total + difference);
      t[z + low] = 0.5 * (total - difference);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Leaves: the last coordinate i, at the top position, and its two sets K + i and K.

// One function on the cells of (K, i): a where x_i = 0, b where x_i = 1.
struct Pair {
  double *a, *b;
  Index half;
};

// sum over the cells of chi_{K+i} g
double signed_sum(const Pair& g) {
  double total = 0.0;
  for_tiles(g.half, [&](Index z, auto length) {
    Sum8 r;
    for_lanes(length, [&](Index j, Index l) { r.lane[l] += kSigns.of[j] * (g.a[z + j] - g.b[z + j]); });
    total += tile_sign(z) * r.total();
  });
  return total;
}

// w = 1/p on the cells of (K, i), scaled; returns its sum.
double reciprocal(const double* p, double* w, Index count) {
  double total = 0.0;
  for_tiles(count, [&](Index z, auto length) {
    Sum8 s;
    for_lanes(length, [&](Index j, Index l) {
      const double r = kScale / p[z + j];
      w[z + j] = r;
      s.lane[l] += r;
    });
    total += s.total();
  });
  return total;
}

// w = 1/p_K on the cells of K, from p on the cells of (K, i).
double reciprocal_of_sum(const double* p, double* w, Index half) {
  double total = 0.0;
  for_tiles(half, [&](Index z, auto length) {
    Sum8 s;
    for_lanes(length, [&](Index j, Index l) {
      const double r = kScale / (p[z + j] + p[z + j + half]);
      w[z + j] = r;
      s.lane[l] += r;
    });
    total += s.total();
  });
  return total;
}

// g -= q chi_{K+i} w; returns the sum over the cells of chi_K g.
double subtract_kept(const Pair& g, const double* w, double q) {
  double total = 0.0;
  for_tiles(g.half, [&](Index z, auto length) {
    const double sign = tile_sign(z), qz = q * sign;
    Sum8 r;
    for_lanes(length, [&](Index j, Index l) {
      const double c = qz * kSigns.of[j];
      const double a = g.a[z + j] - c * w[z + j];
      const double b = g.b[z + j] + c * w[z + j + g.half];
      g.a[z + j] = a;
      g.b[z + j] = b;
      r.lane[l] += kSigns.of[j] * (a + b);
    });
    total += sign * r.total();
  });
  return total;
}

// The sum over the cells of chi_K g.
double signed_sum_dropped(const Pair& g) {
  double total = 0.0;
  for_tiles(g.half, [&](Index z, auto length) {
    Sum8 r;
    for_lanes(length, [&](Index j, Index l) { r.lane[l] += kSigns.of[j] * (g.a[z + j] + g.b[z + j]); });
    total += tile_sign(z) * r.total();
  });
  return total;
}

// (g summed over x_i) -= q chi_K w, half of it to each side.
void subtract_dropped(const Pair& g, const double* w, double q) {
  for_tiles(g.half, [&](Index z, auto length) {
    const double qz = 0.5 * q * tile_sign(z);
    for_lanes(length, [&](Index j, Index) {
      const double c = qz * kSigns.of[j] * w[z + j];
      g.a[z + j] -= c;
      g.b[z + j] -= c;
    });
  });
}

// ---------------------------------------------------------------------------------------------------------------
// The walk over all subsets; kSolve finds beta and subtracts its terms, otherwise beta is given and they are added.

// m functions on one set of cells: m tables, `stride` apart.
struct Tables {
  double* g;
  Index stride;
  double* of(Index output) const { return g + output * stride; }
};

struct Node {
  Tables g;
  const double* p;
  double* scratch;
  int n, k;
  Index kept;
  Positions position;
  int threads;

  Index bit(int q) const { return Index{1} << position.at[q]; }

  Node with(const double* marginal, double* free_scratch) const {
    Node node = *this;
    node.p = marginal;
    node.scratch = free_scratch;
    return node;
  }

  Node keep(int count) const {
    Node child = *this;
    for (int q = k; q < k + count; ++q) child.kept |= bit(q);
    child.k += count;
    return child;
  }
};

struct Scratch {
  double* next;
  double* take(Index count) {
    double* taken = next;
    next += count;
    return taken;
  }
};

inline bool finite(double x) { return x - x == 0.0; }

template <bool kSolve>
struct Walk {
  Cube cube;
  Runtime runtime;
  double* beta;  // kSolve: out, otherwise in

  template <class Body>
  void for_outputs(Body body) const {
    for (Index o = 0; o < cube.m; ++o) body(o);
  }

  double& coefficient(Index output, Index set) const { return beta[output * cells(cube.d) + set]; }

  // The multiple of chi w to subtract at a set of n coordinates: 2^(d - 2n) beta, unscaled.
  double multiple(Index output, Index set, int n, double sum_g, double sum_w) const {
    double& b = coefficient(output, set);
    if (!kSolve) return -b * (kUnscale * power_of_two(cube.d - 2 * n));
    const double q = sum_g / sum_w;
    b = q * (kScale * power_of_two(2 * n - cube.d));
    return q;
  }

  void leaves(const Node& v) {
    const Index half = cells(v.n - 1), with = v.kept | v.bit(v.n - 1);
    const auto pair = [&](Index o) { return Pair{v.g.of(o), v.g.of(o) + half, half}; };
    double* w = v.scratch;

    double sum_w = reciprocal(v.p, w, 2 * half);
    for_outputs([&](Index o) {
      double sum_g = 0.0;
      if (finite(sum_w)) {
        sum_g = subtract_kept(pair(o), w, multiple(o, with, v.n, kSolve ? signed_sum(pair(o)) : 0.0, sum_w));
      } else if (kSolve) {
        coefficient(o, with) = 0.0;
        sum_g = signed_sum_dropped(pair(o));
      }
      if (kSolve) coefficient(o, v.kept) = sum_g;  // until it is replaced below
    });

    sum_w = reciprocal_of_sum(v.p, w, half);
    for_outputs([&](Index o) {
      if (finite(sum_w))
        subtract_dropped(pair(o), w, multiple(o, v.kept, v.n - 1, coefficient(o, v.kept), sum_w));
      else if (kSolve)
        coefficient(o, v.kept) = 0.0;
    });
    runtime.advance(3 * half);  // the cells of both sets
  }

  void visit(const Node& v) {
    if (v.n >= 10 && runtime.stop()) return;
    if (v.n - v.k == 1) return leaves(v);
    if (decides_two(cube.d, v.n, v.k)) return visit_two(v);

    visit(v.keep(1));
    Node without = v.with(v.scratch, v.scratch + cells(v.n - 1));
    without.n = v.n - 1;
    without.position = v.position.without(v.k, v.n);
    drop(v.p, v.scratch, v.n, v.k);
    for_outputs([&](Index o) { split(v.g.of(o), v.n, v.k); });
    visit(without);
    for_outputs([&](Index o) { merge(v.g.of(o), v.n, v.k); });
  }

  struct Branch {
    Walk* walk;
    Node node;
    static void run(void* data) {
      auto* branch = static_cast<Branch*>(data);
      branch->walk->visit(branch->node);
    }
  };

  // Coordinates i = position k and j = position k + 1.
  void visit_two(const Node& v) {
    const Index half = cells(v.n - 1), quarter = half / 2;
    const int n = v.n, k = v.k;
    visit(v.keep(2));
    for_outputs([&](Index o) { split(v.g.of(o), n, k + 1); });  // halves: frequency 0 and 1 of j

    // i without j, on the first half.
    Node only_i = v;
    only_i.n = n - 1;
    only_i.position = v.position.without(k + 1, n);
    only_i = only_i.keep(1);

    // j without i, on tables of its own, with j at position k.
    Scratch scratch{v.scratch};
    Node only_j = only_i;
    only_j.position.at[k] = v.position.at[k + 1];
    only_j.kept = v.kept | v.bit(k + 1);
    only_j.g = {scratch.take(cube.m * half), half};
    for_outputs([&](Index o) { half_difference(v.g.of(o) + half, only_j.g.of(o), n - 1, k); });

    double *p_i, *p_j;
    if (v.threads > 1) {
      only_i.threads = first_share(v.threads);
      only_j.threads = v.threads - only_i.threads;
      p_i = scratch.take(half);
      drop(v.p, p_i, n, k + 1);
      p_j = scratch.take(half);
      drop_before(v.p, p_j, n, k);
      Branch j{this, only_j.with(p_j, scratch.take(scratch_below(cube, n - 1, only_j.threads)))};
      Branch i{this, only_i.with(p_i, scratch.next)};
      runtime.both(&Branch::run, &i, &Branch::run, &j);
      scratch.next = p_j;
    } else {
      p_j = scratch.take(half);
      drop_before(v.p, p_j, n, k);
      visit(only_j.with(p_j, scratch.next));
      scratch.next = p_j;
      p_i = scratch.take(half);
      drop(v.p, p_i, n, k + 1);
      visit(only_i.with(p_i, scratch.next));
    }
    for_outputs([&](Index o) { add_back(only_j.g.of(o), v.g.of(o), v.g.of(o) + half, n - 1, k); });

    Node neither = v;
    neither.n = n - 2;
    neither.position = only_i.position.without(k, n - 1);
    double* p = scratch.take(quarter);
    drop(p_i, p, n - 1, k);
    for_outputs([&](Index o) { split(v.g.of(o), n - 1, k); });
    visit(neither.with(p, scratch.next));
    for_outputs([&](Index o) {
      merge(v.g.of(o), n - 1, k);
      merge(v.g.of(o), n, k + 1);
    });
  }
};

template <bool kSolve>
void walk(Cube cube, double* g, const double* p, double* beta, Runtime runtime) {
  auto* scratch = static_cast<double*>(std::malloc(scratch_below(cube, cube.d, cube.threads) * sizeof(double)));
  if (scratch == nullptr) return runtime.fail();
  Node root{{g, cells(cube.d)}, p, scratch, cube.d, 0, 0, {}, cube.threads};
  for (int b = 0; b < cube.d; ++b) root.position.at[b] = static_cast<unsigned char>(b);
  Walk<kSolve>{cube, runtime, beta}.visit(root);
  std::free(scratch);
}

// ---------------------------------------------------------------------------------------------------------------
// Inner products with every psi_S. No set needs another one: "keep" and "drop" run in parallel.

struct Projection {
  Cube cube;
  Runtime runtime;
  double* inner;
  double* norm2;

  struct Node {
    const double* tables;  // h for each output, then p: m + 1 tables, one after the other
    double* scratch;
    int n, k;
    Index kept;
    Positions position;
    int threads;
  };

  Index scratch_below(int n, int threads) const {
    const Index dropped = (cube.m + 1) * cells(n - 1);
    if (n > cube.d - 2 && threads > 1 && n > 1) return dropped + scratch_below(n - 1, threads);
    if (!parallel(n, 0, threads)) return 2 * dropped;
    const int share = first_share(threads);
    return dropped + scratch_below(n - 1, share) + scratch_below(n, share);
  }

  bool parallel(int n, int k, int threads) const {
    return threads > 1 && n <= cube.d - 2 && n - k > 1 && work(k, n - k) >= kQuadWork;
  }

  void leaves(const Node& v) {
    const Index half = cells(v.n - 1);
    leaf(v.tables, v.kept | Index{1} << v.position.at[v.n - 1], v.n);
    for (Index o = 0; o <= cube.m; ++o) drop(v.tables + o * 2 * half, v.scratch + o * half, v.n, v.n - 1);
    leaf(v.scratch, v.kept, v.n - 1);
    runtime.advance(3 * half);
  }

  // One set of n coordinates: inner = mean of chi h / p over its cells, norm2 = mean of 1 / (2^n p).
  void leaf(const double* tables, Index set, int n) const {
    const Index count = cells(n);
    const double* p = tables + cube.m * count;
    double sum_w = 0.0;
    for_tiles(count, [&](Index z, auto length) {
      Sum8 s;
      for_lanes(length, [&](Index j, Index l) { s.lane[l] += kScale / p[z + j]; });
      sum_w += s.total();
    });
    norm2[set] = finite(sum_w) ? sum_w * (kUnscale * power_of_two(-2 * n)) : 0.0;
    for (Index o = 0; o < cube.m; ++o) {
      const double* h = tables + o * count;
      double total = 0.0;
      if (finite(sum_w))
        for_tiles(count, [&](Index z, auto length) {
          Sum8 s;
          for_lanes(length, [&](Index j, Index l) { s.lane[l] += kSigns.of[j] * (h[z + j] / p[z + j]); });
          total += tile_sign(z) * s.total();
        });
      inner[o * cells(cube.d) + set] = total * power_of_two(-n);
    }
  }

  struct Branch {
    Projection* projection;
    Node node;
    static void run(void* data) {
      auto* branch = static_cast<Branch*>(data);
      branch->projection->visit(branch->node);
    }
  };

  void visit(const Node& v) {
    if (v.n >= 10 && runtime.stop()) return;
    if (v.n - v.k == 1) return leaves(v);
    const Index half = cells(v.n - 1);
    Branch keep{this, v}, without{this, v};
    keep.node.kept |= Index{1} << v.position.at[v.k];
    keep.node.k += 1;
    without.node.n -= 1;
    without.node.position = v.position.without(v.k, v.n);
    without.node.tables = v.scratch;
    without.node.scratch = v.scratch + (cube.m + 1) * half;
    const auto drop_all = [&] {
      for (Index o = 0; o <= cube.m; ++o) drop(v.tables + o * 2 * half, v.scratch + o * half, v.n, v.k);
    };
    if (!parallel(v.n, v.k, v.threads)) {
      visit(keep.node);
      drop_all();
      return visit(without.node);
    }
    drop_all();
    keep.node.threads = first_share(v.threads);
    without.node.threads = v.threads - keep.node.threads;
    keep.node.scratch = without.node.scratch + scratch_below(v.n - 1, without.node.threads);
    runtime.both(&Branch::run, &keep, &Branch::run, &without);
  }
};

void project(Cube cube, const double* tables, double* inner, double* norm2, Runtime runtime) {
  Projection projection{cube, runtime, inner, norm2};
  auto* scratch = static_cast<double*>(std::malloc(projection.scratch_below(cube.d, cube.threads) * sizeof(double)));
  if (scratch == nullptr) return runtime.fail();
  Projection::Node root{tables, scratch, cube.d, 0, 0, {}, cube.threads};
  for (int b = 0; b < cube.d; ++b) root.position.at[b] = static_cast<unsigned char>(b);
  projection.visit(root);
  std::free(scratch);
}

// ---------------------------------------------------------------------------------------------------------------
// Product measures: a 2x2 matrix along each coordinate.

void kronecker(Cube cube, double* f, const double* matrices, Runtime runtime) {
  const Index size = cells(cube.d) * cube.m;
  for (int b = 0; b < cube.d; ++b) {
    if (runtime.stop()) return;
    const double *m = matrices + 4 * b, m00 = m[0], m01 = m[1], m10 = m[2], m11 = m[3];
    const Index low = cells(b);
    for (Index block = 0; block < size; block += 2 * low)
      for (Index z = block; z < block + low; ++z) {
        const double x0 = f[z], x1 = f[z + low];
        f[z] = m00 * x0 + m01 * x1;
        f[z + low] = m10 * x0 + m11 * x1;
      }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// A function on the support, continued to the whole cube with parities of order-shattered sets only.
//
// Split the support X along the top coordinate into X0, X1. The part of f that needs the coordinate is known on the
// intersection of X0 and X1; continue it from there (B); then f(., 0) where X0 says it, f(., 1) - B elsewhere, is known on the union;
// continue it from there (A). f is A at 0 and A + B at 1. When the number of shattered sets equals that of the points
// this is the only continuation that uses shattered sets alone.

void extend(double* f, unsigned char* known, Index size, double* b, unsigned char* known_b) {
  Index count = 0;
  for (Index z = 0; z < size; ++z) count += known[z];
  if (count == size) return;
  if (count == 0) {
    for (Index z = 0; z < size; ++z) f[z] = 0.0;
    return;
  }
  if (size == 1) return;
  const Index half = size / 2;
  for (Index z = 0; z < half; ++z) {
    known_b[z] = known[z] & known[z + half];
    b[z] = known_b[z] ? f[z + half] - f[z] : 0.0;
  }
  extend(b, known_b, half, b + half, known_b + half);
  for (Index z = 0; z < half; ++z) {
    if (!known[z] && known[z + half]) f[z] = f[z + half] - b[z];
    known[z] |= known[z + half];
  }
  extend(f, known, half, b + half, known_b + half);
  for (Index z = 0; z < half; ++z) f[z + half] = f[z] + b[z];
}

}  // namespace

extern const LinearKernels kLinearKernels;
extern const Kernels kKernels;
const Kernels kKernels = {HFD_ISA_NAME, &kLinearKernels, &walk<true>, &walk<false>, &project, &kronecker, &extend};

}  // namespace HFD_ISA
}  // namespace hfd
