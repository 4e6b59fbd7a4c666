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

#include "isa.hpp"
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
// the one entry of `done`, which another thread may read.
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
}
