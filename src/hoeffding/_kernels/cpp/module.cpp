// The Python module: arrays in, arrays out. Shapes are checked by the Python code that calls it.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "counting.hpp"
#include "isa.hpp"
#include "least_norm.hpp"
#include "lookup.hpp"
#include "row_lists.hpp"
#include "runtime_state.hpp"
#include "shattered.hpp"

namespace nb = nanobind;

namespace {

using namespace hfd;

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

std::vector<const Kernels*> kernels_here() {
  std::vector<const Kernels*> found(8);
  found.resize(available(found.data(), found.size()));
  return found;
}

const Kernels& kernels(const std::string& name) {
  for (const Kernels* k : kernels_here())
    if (name == k->name) return *k;
  throw std::invalid_argument("instruction set '" + name + "' is not available here");
}

// Runs a kernel without the interpreter lock; afterwards raises what stopped it. The work done so far is added up in
// the one entry of `done`, which is written under the interpreter lock.
using Done = std::optional<Array<double>>;

template <class Body>
void run(Body body, const Done& done = std::nullopt) {
  Runtime::State state;
  if (done) state.done = done->data();
  {
    nb::gil_scoped_release released;
    body(Runtime(&state));
  }
  if (state.interrupted) throw nb::python_error();
  if (state.out_of_memory) throw std::bad_alloc();
}

Cube cube(std::size_t m, std::size_t cells, int threads) {
  int d = 0;
  while (d < kMaxCube && (std::size_t{1} << d) < cells) ++d;
  return {d, m, threads};
}

// A vector handed over to Python as an array, without a copy.
template <class T>
nb::ndarray<nb::numpy, T> to_array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

using ArrayList = std::vector<Array<const std::int32_t>>;

Levels levels(const ArrayList& sets) {
  Levels out;
  for (const auto& level : sets) {
    out.sets.push_back(level.data());
    out.counts.push_back(level.shape(0));
  }
  return out;
}

Rows bit_rows(const Array<const std::uint64_t>& columns, std::size_t rows) {
  return {columns.data(), columns.shape(0), columns.shape(1), rows};
}

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "Native kernels; hoeffding._kernels.reference says in NumPy what each of them means.";

  module.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const Kernels* k : kernels_here()) names.emplace_back(k->name);
    return names;
  });

  module.def(
      "solve",
      [](const std::string& isa, Array<double> g, Array<const double> p, Array<double> beta, int threads, Done done) {
        const Kernels& k = kernels(isa);
        const Cube c = cube(g.shape(0), g.shape(1), threads);
        run([&](Runtime rt) { k.solve(c, g.data(), p.data(), beta.data(), rt); }, done);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());

  module.def(
      "synthesize",
      [](const std::string& isa, Array<double> g, Array<const double> p, Array<double> beta, int threads, Done done) {
        const Kernels& k = kernels(isa);
        const Cube c = cube(g.shape(0), g.shape(1), threads);
        run([&](Runtime rt) { k.synthesize(c, g.data(), p.data(), beta.data(), rt); }, done);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());

  module.def(
      "project",
      [](const std::string& isa, Array<const double> tables, Array<double> inner, Array<double> norm2, int threads,
         Done done) {
        const Kernels& k = kernels(isa);
        const Cube c = cube(tables.shape(0) - 1, tables.shape(1), threads);
        run([&](Runtime rt) { k.project(c, tables.data(), inner.data(), norm2.data(), rt); }, done);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());

  module.def("kronecker", [](const std::string& isa, Array<double> f, Array<const double> matrices) {
    const Kernels& k = kernels(isa);
    const Cube c = cube(f.shape(0), f.shape(1), 1);
    run([&](Runtime rt) { k.kronecker(c, f.data(), matrices.data(), rt); });
  });

  module.def("extend", [](const std::string& isa, Array<double> f, Array<const std::uint8_t> support) {
    const Kernels& k = kernels(isa);
    const std::size_t size = f.shape(1);
    std::vector<double> b(size);
    std::vector<std::uint8_t> known(size), known_b(size);
    run([&](Runtime rt) {
      for (std::size_t o = 0; o < f.shape(0) && !rt.stop(); ++o) {
        known.assign(support.data(), support.data() + size);
        k.extend(f.data() + o * size, known.data(), size, b.data(), known_b.data());
      }
    });
  });

  module.def("judge_candidates", [](Array<const std::uint64_t> columns, std::size_t rows, Array<const std::int64_t> sets,
                                    Array<std::uint8_t> shattered, int threads) {
    const Candidates candidates{columns.data(),  columns.shape(1), rows, sets.data(), sets.shape(0),
                                static_cast<int>(sets.shape(1))};
    run([&](Runtime rt) { judge_candidates(candidates, shattered.data(), threads, rt); });
  });

  module.def("shattered_in_table", [](Array<const std::uint8_t> support, Array<std::uint8_t> shattered) {
    const int d = cube(1, support.shape(0), 1).d;
    run([&](Runtime rt) { shattered_in_table(support.data(), d, shattered.data(), rt); });
  });

  module.def(
      "sum_over_sets",
      [](const std::string& isa, Array<const std::uint64_t> columns, std::size_t rows,
         std::optional<Array<const std::uint64_t>> planes, std::optional<Array<const double>> real,
         Array<const double> targets, const std::optional<ArrayList>& only, int max_size, int target_size,
         int threads) {
        const Kernels& k = kernels(isa);
        const Levels family = only ? levels(*only) : Levels{};
        const Weights weights{planes ? planes->data() : nullptr, planes ? planes->shape(0) : 0,
                              real ? real->data() : nullptr, targets.data(), targets.shape(0)};
        std::vector<LevelSums> sums;
        run([&](Runtime rt) {
          sums = sum_over_sets(k, bit_rows(columns, rows), weights, only ? &family : nullptr, max_size, target_size,
                               threads, rt);
        });
        nb::list out;
        for (std::size_t s = 0; s < sums.size(); ++s) {
          LevelSums& level = sums[s];
          const std::size_t count = level.sets.size() / (s + 1);
          const bool targeted = static_cast<int>(s) < target_size;
          out.append(nb::make_tuple(to_array(std::move(level.sets), {count, s + 1}),
                                    to_array(std::move(level.counts), {count}),
                                    to_array(std::move(level.weights), {weights.real != nullptr ? count : 0}),
                                    to_array(std::move(level.targets), {targeted ? count : 0, weights.m})));
        }
        return out;
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg(),
      nb::arg(), nb::arg());

  module.def("pack_columns", [](Array<const std::uint8_t> rows, Array<std::uint64_t> columns) {
    run([&](Runtime) {
      pack_columns(rows.data(), rows.shape(0), rows.shape(1), columns.data(), columns.shape(1));
    });
  });

  module.def("union_matrix", [](const ArrayList& family, const ArrayList& occurring,
                                const std::vector<Array<const double>>& values, Array<double> M, int threads) {
    std::vector<const double*> numbers;
    for (const auto& v : values) numbers.push_back(v.data());
    run([&](Runtime rt) { union_matrix(levels(family), levels(occurring), numbers, M.data(), threads, rt); });
  });

  module.def("sets_of_rows", [](Array<const std::uint64_t> columns, std::size_t rows, const ArrayList& family,
                                int threads) {
    RowLists lists;
    run([&](Runtime rt) { lists = sets_of_rows(bit_rows(columns, rows), levels(family), threads, rt); });
    const std::size_t n = lists.starts.size(), entries = lists.sets.size();
    return nb::make_tuple(to_array(std::move(lists.starts), {n}), to_array(std::move(lists.sets), {entries}));
  });

  module.def(
      "gram_product",
      [](Array<const std::int64_t> starts, Array<const std::int32_t> sets, std::optional<Array<const double>> diagonal,
         Array<const double> c, Array<double> out, int threads) {
        const RowListsView lists{starts.data(), sets.data(), starts.shape(0) - 1};
        run([&](Runtime rt) {
          gram_product(lists, diagonal ? diagonal->data() : nullptr, c.data(), c.shape(0), out.data(), threads, rt);
        });
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());

  module.def("least_norm", [](Array<const double> p, Array<double> out, int threads) {
    run([&](Runtime rt) { least_norm(p.data(), p.shape(0), p.shape(1), out.data(), threads, rt); });
  });

  module.def("blocks_of_sets", [](Array<const std::int64_t> starts, Array<const std::int32_t> features, std::size_t d,
                                  std::size_t largest, Array<std::int32_t> out) {
    const Sets sets{out.shape(0), starts.data(), features.data()};
    run([&](Runtime) { blocks_of_sets(sets, d, largest, out.data()); });
  });

  module.def("lookup", [](const std::string& isa, Array<const std::uint64_t> columns, std::size_t rows,
                          Array<const std::int64_t> set_starts, Array<const std::int32_t> set_features,
                          Array<const std::int32_t> set_block, Array<const std::int64_t> table_starts,
                          Array<const double> tables, Array<const std::int64_t> target_starts,
                          Array<const std::int32_t> targets, Array<const double> weights,
                          Array<const std::int64_t> block_starts, Array<const std::int32_t> block_features,
                          Array<double> out, int threads) {
    const Kernels& k = kernels(isa);
    const Tables t{set_block.shape(0),   block_starts.shape(0) - 1, out.shape(1),      out.shape(2),
                   set_starts.data(),    set_features.data(),       set_block.data(),  table_starts.data(),
                   tables.data(),        target_starts.data(),      targets.data(),    weights.data(),
                   block_starts.data(),  block_features.data()};
    run([&](Runtime rt) { lookup(k, bit_rows(columns, rows), t, out.data(), threads, rt); });
  });

  module.def("descend", [](const std::string& isa, Array<const double> gram, Array<const double> l1,
                           Array<const double> l2, Array<const std::int64_t> active, Array<double> beta,
                           Array<double> q, std::size_t sweeps) {
    const Kernels& k = kernels(isa);
    const Descent state{gram.data(),   gram.shape(0),   l1.data(),   l2.data(),
                        active.data(), active.shape(0), beta.data(), q.data()};
    double largest = 0.0;
    run([&](Runtime rt) { largest = k.linear->descend(state, sweeps, rt); });
    return largest;
  });
}
