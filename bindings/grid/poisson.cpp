#include "bridge.hpp"

#include "meniscus/fluids/pressure/projection.hpp"
#include "meniscus/grid/poisson/poisson_assembly.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace meniscus::bindings {
namespace {

/// The matrix-free Poisson solver on plain arrays.
template <int D>
class ArrayPoisson {
 public:
  explicit ArrayPoisson(const grid::Grid<D>& grid) : layout_(grid.block(), grid.transport()) {}

  void set_coefficients(const std::array<const double*, D>& faces, const bool* active) {
    prepared_ = false;
    grid::FaceMatrix<double, D>& a = solver_.matrix;
    grid::fit(a, layout_, true);
    a.open_coupling.fill(open_coupling(faces));
    std::array<Coord<D>, D> strides;
    for (std::size_t d = 0; d < D; ++d) {
      Coord<D> n = layout_.cells;
      ++n[d];
      strides[d] = c_strides<D>(n);
    }
    std::array<Block<double>, D>& to = a.faces;
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      grid::for_each_face_row<D>(layout_, d, [&](const Coord<D>& c, Index count, int, int) {
        std::copy_n(faces[axis] + dot<D>(c, strides[axis]), count, to[axis].data() + layout_.index(c));
      });
    }
    const Coord<D> cell_strides = c_strides<D>(layout_.cells);
    for (Index r = 0; r < layout_.rows(); ++r) {
      const bool* row = active ? active + dot<D>(layout_.row_coordinate(r), cell_strides) : nullptr;
      for (Index k = 0; k < layout_.cells[D - 1]; ++k) {
        const Index i = layout_.row(r) + k;
        double sum = 0;
        if (!row || row[k])
          for (std::size_t d = 0; d < D; ++d) {
            const bool own_neighbour = layout_.single_cell_ring(d);
            if (!own_neighbour) sum += to[d][i] + to[d][i + layout_.strides[d]];
          }
        a.diagonal[i] = sum;
      }
    }
    for (std::size_t d = 0; d < D; ++d)
      if (layout_.single_cell_ring(d)) {
        std::fill(to[d].begin(), to[d].end(), 0.0);
        a.open_coupling[d] = 0;
      }
    const auto start = std::chrono::steady_clock::now();
    solver_.prepare();
    prepared_ = true;
    setup_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void solve(const double* rhs, double* x, const numerics::SolveOptions& options, bool warm_start) {
    require(prepared_, "set_coefficients must come before solve");
    const Coord<D> strides = c_strides<D>(layout_.cells);
    const Index length = layout_.cells[D - 1];
    const auto rows = [&](auto&& body) {
      parallel_for(0, layout_.rows(), std::max<Index>(1, 8192 / length), [&](Index b, Index e) {
        for (Index r = b; r < e; ++r) body(layout_.row(r), dot<D>(layout_.row_coordinate(r), strides));
      });
    };
    rows([&](Index row, Index at) {
      for (Index k = 0; k < length; ++k) {
        const bool unknown = solver_.matrix.active[row + k] != 0;
        solver_.b[row + k] = unknown ? rhs[at + k] : 0.0;
        if (warm_start) solver_.x[row + k] = unknown ? x[at + k] : 0.0;
      }
    });
    solver_.solve(options, !warm_start, info_);
    const NoInterrupts whole;
    rows([&](Index row, Index at) {
      for (Index k = 0; k < length; ++k) x[at + k] = solver_.matrix.active[row + k] ? solver_.x[row + k] : 0.0;
    });
  }

  /// A x, zero in cells that are no unknowns.
  void multiply(const double* x, double* out) {
    require(prepared_, "set_coefficients must come before multiply");
    Block<double> from(layout_.size), to(layout_.size);
    std::fill(from.begin(), from.end(), 0.0);
    const Coord<D> strides = c_strides<D>(layout_.cells);
    const auto rows = [&](auto&& body) {
      for (Index r = 0; r < layout_.rows(); ++r)
        for (Index k = 0; k < layout_.cells[D - 1]; ++k) body(layout_.row(r) + k, dot<D>(layout_.row_coordinate(r), strides) + k);
    };
    rows([&](Index i, Index at) { from[i] = solver_.matrix.active[i] ? x[at] : 0.0; });
    solver_.multiply(from, to);
    rows([&](Index i, Index at) { out[at] = solver_.matrix.active[i] ? to[i] : 0.0; });
  }

  const numerics::SolveInfo& info() const { return info_; }
  double setup_seconds() const { return setup_seconds_; }
  Index bytes() const { return solver_.bytes(); }
  const grid::CellLayout<D>& layout() const { return layout_; }
  const grid::PoissonRegions<D>& regions() const { return solver_.regions(); }
  int levels() { return solver_.hierarchy().levels(); }

 private:
  /// The most common coefficient, guessed from a sample: a wrong guess costs time, never correctness.
  double open_coupling(const std::array<const double*, D>& faces) const {
    double largest = 0;
    const Index n = layout_.count();
    for (Index k = 0; k < 1024; ++k) largest = std::max(largest, faces[0][k * std::max<Index>(1, n / 1024) % n]);
    return largest > 0 ? largest : 1.0;
  }

  grid::CellLayout<D> layout_;
  grid::PoissonSolver<D> solver_;
  numerics::SolveInfo info_;
  double setup_seconds_ = 0;
  bool prepared_ = false;
};

template <int D>
py::list regions_of(const grid::PoissonRegions<D>& regions) {
  py::list out;
  for (const auto& r : regions.regions()) out.append(py::make_tuple(r.cells, r.closed, r.first_cell));
  return out;
}

template <int D>
void bind_array_poisson(py::module_& m, const char* name) {
  using P = ArrayPoisson<D>;
  py::class_<P>(m, name)
      .def(py::init<const grid::Grid<D>&>(), py::arg("grid"))
      .def(
          "set_coefficients",
          [](P& p, const std::vector<py::array>& faces, const std::optional<py::array>& active) {
            require(faces.size() == D, "faces must hold ", D, " arrays, not ", faces.size());
            std::array<const double*, D> data;
            for (std::size_t d = 0; d < D; ++d) {
              Coord<D> n = p.layout().cells;
              ++n[d];
              data[d] = data_of<double>(faces[d], "faces", product<D>(n));
            }
            const bool* mask = active ? data_of<bool>(*active, "active", p.layout().count()) : nullptr;
            interruptible([&] { p.set_coefficients(data, mask); });
          },
          py::arg("faces"), py::arg("active"))
      .def(
          "solve",
          [](P& p, const py::array& rhs, const py::array& x, const numerics::SolveOptions& options, bool warm_start) {
            const Index n = p.layout().count();
            const double* b = data_of<double>(rhs, "rhs", n);
            double* to = data_of<double>(x, "x", n, true);
            interruptible([&] { p.solve(b, to, options, warm_start); });
            return p.info();
          },
          py::arg("rhs"), py::arg("x"), py::arg("options"), py::arg("warm_start"))
      .def(
          "multiply",
          [](P& p, const py::array& x, const py::array& out) {
            const Index n = p.layout().count();
            p.multiply(data_of<double>(x, "x", n), data_of<double>(out, "out", n, true));
          },
          py::arg("x"), py::arg("out"))
      .def_property_readonly("setup_seconds", &P::setup_seconds)
      .def_property_readonly("bytes", &P::bytes)
      .def_property_readonly("levels", &P::levels)
      .def_property_readonly("regions", [](const P& p) { return regions_of<D>(p.regions()); });
}

template <class T, int D>
void bind_projection(py::class_<fluids::PressureSolver<D>>& c) {
  c.def(
      "project",
      [](fluids::PressureSolver<D>& solver, grid::MacField<T, D>& velocity, double dt, double density,
         const grid::Field<T, D>* density_field, const grid::Field<double, D>* solid, const grid::MacField<T, D>* solid_velocity,
         const grid::Field<T, D>* liquid, const std::optional<py::array>& liquid_mask,
         const std::optional<std::array<py::array, D>>& given_faces, double air_pressure,
         const grid::Field<T, D>* surface_pressure, const grid::Field<T, D>* target_divergence, grid::Field<double, D>* pressure,
         bool warm_start, double time, const fluids::ProjectionOptions& options) {
        fluids::PressureInput<T, D> in;
        in.density = density;
        in.density_field = density_field;
        in.solid = solid;
        in.solid_velocity = solid_velocity;
        in.liquid = liquid;
        if (liquid_mask)
          in.liquid_mask = reinterpret_cast<const std::uint8_t*>(
              data_of<bool>(*liquid_mask, "liquid", product<D>(solver.grid().local_shape())));
        if (given_faces)
          for (int d = 0; d < D; ++d) {
            const auto axis = static_cast<std::size_t>(d);
            in.given_faces[axis] = reinterpret_cast<const std::uint8_t*>(
                data_of<bool>((*given_faces)[axis], "given_faces", product<D>(velocity.component(d).extents())));
          }
        in.air_pressure = air_pressure;
        in.surface_pressure = surface_pressure;
        in.target_divergence = target_divergence;
        in.pressure = pressure;
        in.warm_start = warm_start;
        in.time = time;
        fluids::ProjectionReport<D> report;
        interruptible([&] { solver.project(velocity, dt, in, options, report); });
        py::list regions;
        for (const auto& r : report.regions) regions.append(py::make_tuple(r.cells, r.closed, r.first_cell, r.flux, r.residual));
        return py::make_tuple(report.solve, report.setup_seconds, regions);
      },
      py::arg("velocity"), py::arg("dt"), py::arg("density"), py::arg("density_field").none(true), py::arg("solid").none(true),
      py::arg("solid_velocity").none(true), py::arg("liquid").none(true), py::arg("liquid_mask").none(true),
      py::arg("given_faces").none(true), py::arg("air_pressure"), py::arg("surface_pressure").none(true),
      py::arg("target_divergence").none(true), py::arg("pressure").none(true), py::arg("warm_start"), py::arg("time"),
      py::arg("options"));
  c.def(
      "divergence",
      [](fluids::PressureSolver<D>& solver, const grid::MacField<T, D>& velocity, const grid::Field<double, D>* solid,
         const grid::MacField<T, D>* solid_velocity, grid::Field<T, D>& out) {
        fluids::PressureInput<T, D> in;
        in.solid = solid;
        in.solid_velocity = solid_velocity;
        interruptible([&] { solver.divergence(velocity, in, out); });
      },
      py::arg("velocity"), py::arg("solid").none(true), py::arg("solid_velocity").none(true), py::arg("out"));
}

template <int D>
void bind_pressure_solver(py::module_& m, const char* name) {
  py::class_<fluids::PressureSolver<D>> c(m, name);
  c.def(py::init<const grid::Grid<D>&>(), py::arg("grid")).def_property_readonly("bytes", &fluids::PressureSolver<D>::bytes);
  bind_projection<float, D>(c);
  bind_projection<double, D>(c);
}

}  // namespace

void bind_poisson(py::module_& numerics, py::module_& grid, py::module_& fluids) {
  py::enum_<numerics::SolveMethod>(numerics, "SolveMethod")
      .value("multigrid", numerics::SolveMethod::multigrid)
      .value("incomplete_cholesky", numerics::SolveMethod::incomplete_cholesky);
  py::class_<numerics::SolveOptions>(numerics, "SolveOptions")
      .def(py::init([](double tolerance, int max_iterations, numerics::SolveMethod method) {
             return numerics::SolveOptions{tolerance, max_iterations, method};
           }),
           py::arg("tolerance"), py::arg("max_iterations"), py::arg("method"));
  py::class_<numerics::SolveInfo>(numerics, "SolveInfo")
      .def_readonly("iterations", &numerics::SolveInfo::iterations)
      .def_readonly("residual", &numerics::SolveInfo::residual)
      .def_readonly("history", &numerics::SolveInfo::history)
      .def_readonly("converged", &numerics::SolveInfo::converged)
      .def_property_readonly("reason", [](const numerics::SolveInfo& i) { return std::string(numerics::describe(i.end)); })
      .def_readonly("seconds", &numerics::SolveInfo::seconds);
  bind_array_poisson<2>(grid, "PoissonSolver2");
  bind_array_poisson<3>(grid, "PoissonSolver3");
  py::enum_<fluids::FluxFix>(fluids, "FluxFix").value("volume", fluids::FluxFix::volume).value("walls", fluids::FluxFix::walls);
  py::class_<fluids::ProjectionOptions>(fluids, "ProjectionOptions")
      .def(py::init([](const numerics::SolveOptions& solve, fluids::FluxFix fix, bool accept_unconverged) {
             return fluids::ProjectionOptions{solve, fix, accept_unconverged};
           }),
           py::arg("solve"), py::arg("flux_fix"), py::arg("accept_unconverged"));
  bind_pressure_solver<2>(fluids, "PressureSolver2");
  bind_pressure_solver<3>(fluids, "PressureSolver3");
}

}  // namespace meniscus::bindings
