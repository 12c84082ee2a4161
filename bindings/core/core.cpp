// Threads, vector instructions, memory, random numbers and workspaces.
#include "index_arrays.hpp"

#include "meniscus/core/memory/nonzero_rows.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/core/random_columns.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/core/workspace.hpp"

#if __has_include(<tbb/version.h>)
#include <tbb/version.h>
#endif

namespace meniscus::bindings {

void bind_core(py::module_& m) {
  m.def("set_num_threads", &set_num_threads, py::arg("n"));
  m.def("num_threads", &num_threads);
  m.def("block_allocations", &block_allocations);
  m.def("block_bytes", &block_bytes);
  m.def("simd_level", [] { return std::string(simd_name(simd_level())); });
  m.def("simd_supported", [] { return std::string(simd_name(simd_supported())); });
  m.def("simd_width", [] { return simd_width(simd_level()); });
  m.def(
      "set_simd_level",
      [](const std::string& name) {
        for (SimdLevel level : {SimdLevel::baseline, SimdLevel::avx2, SimdLevel::avx512})
          if (name == simd_name(level)) return set_simd_level(level);
        require(false, "unknown SIMD level '", name, "'; choose from baseline, avx2, avx512");
      },
      py::arg("name"));
  m.def("build_info", [] {
    py::dict d;
#if defined(__clang__)
    d["compiler"] = "Clang " __clang_version__;
#elif defined(__GNUC__)
    d["compiler"] = "GCC " __VERSION__;
#endif
    d["flags"] = MENISCUS_FLAGS;
    d["eigen"] = std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
                 std::to_string(EIGEN_MINOR_VERSION);
#if defined(TBB_VERSION_STRING)
    d["tbb"] = TBB_VERSION_STRING;
#endif
#if defined(MENISCUS_NATIVE)
    d["native"] = true;
#else
    d["native"] = false;
#endif
    return d;
  });
  m.def("sealed", &sealed, py::arg("array"), "A read-only array over the memory of one that nobody else has.");
  m.def("never_changes", &never_changes, py::arg("array"), "Whether nobody can write to an array any more.");
  m.def(
      "uniform",
      [](std::uint64_t seed, const py::array& ids, std::uint32_t step, std::uint32_t draw) {
        const auto* id = data_of<Index>(ids, "ids");
        const Index n = ids.size();
        py::array_t<double> out({static_cast<py::ssize_t>(n), py::ssize_t{2}});
        double* p = out.mutable_data();
        interruptible([&] { draw_uniform(seed, id, n, step, draw, p); });
        return out;
      },
      py::arg("seed"), py::arg("ids"), py::arg("step"), py::arg("draw"));
  m.def(
      "philox", [](const Philox4& counter, const std::array<std::uint32_t, 2>& key) { return philox(counter, key); },
      py::arg("counter"), py::arg("key"));

  py::class_<NonzeroRows>(m, "NonzeroRows")
      .def(py::init<>())
      .def_property_readonly("nbytes", &NonzeroRows::nbytes)
      .def(
          "take",
          [](NonzeroRows& self, const py::array& values) {
            require(values.ndim() == 1 || values.ndim() == 2, "values must have shape (n,) or (n, k)");
            const auto* p = data_of<double>(values, "values");
            const Index rows = values.shape(0), columns = values.ndim() == 1 ? 1 : values.shape(1);
            interruptible([&] { self.take(p, rows, columns); });
          },
          py::arg("values"))
      .def(
          "bring_back",
          [](const NonzeroRows& self, const py::array& values) {
            auto* p = data_of<double>(values, "values", self.rows() * self.columns(), true);
            const WithoutGil released;
            self.bring_back(p);
          },
          py::arg("values"));

  py::class_<Workspace>(
      m, "Workspace",
      "Scratch memory that may be kept from call to call, so that repeated operators allocate nothing. One thread at a time.")
      .def(py::init<>())
      .def_property_readonly("nbytes", &Workspace::bytes)
      .def("clear", &Workspace::clear);
}

}  // namespace meniscus::bindings
