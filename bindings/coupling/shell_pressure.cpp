// Fluids and the thin shells in them as one system.
#include <algorithm>

#include "masks.hpp"
#include "solids/body_arrays.hpp"

#include "meniscus/coupling/shell_pressure/face_flows.hpp"
#include "meniscus/coupling/shell_pressure/nodal_shell.hpp"
#include "meniscus/coupling/shell_pressure/rigid_shell.hpp"
#include "meniscus/coupling/shell_pressure/shell_system.hpp"

namespace meniscus::bindings {
namespace {

using coupling::ShellSolid;
using SolidPointer = std::shared_ptr<ShellSolid>;

template <class T>
std::span<const T> numbers_of(const py::array& a, const char* name, Index n = -1) {
  const T* const first = data_of<T>(a, name, n);
  return {first, static_cast<std::size_t>(a.size())};
}

void bind_solids(py::module_& m) {
  py::class_<ShellSolid, fluids::SolidResponse, SolidPointer>(m, "ShellSolid")
      .def_property_readonly("nodes", &ShellSolid::nodes)
      .def(
          "respond",
          [](ShellSolid& s, const py::array& impulses, const py::array& out) {
            const auto f = points_of(impulses, "impulses", s.nodes());
            const auto v = writable_points(out, "out", s.nodes());
            return interruptible([&] { return s.respond(f, v); });
          },
          py::arg("impulses"), py::arg("out"));
  py::class_<coupling::KinematicSolid, ShellSolid, std::shared_ptr<coupling::KinematicSolid>>(m, "KinematicShell")
      .def(py::init<Index>(), py::arg("nodes"));
  py::class_<coupling::RigidShell, ShellSolid, std::shared_ptr<coupling::RigidShell>>(m, "RigidShell")
      .def(py::init([](const py::array& arms, double mass, const py::array& inertia, const py::array& free) {
             const double* const i = data_of<double>(inertia, "inertia", 9);
             return std::make_shared<coupling::RigidShell>(
                 positions_of(arms, "arms"), mass, Eigen::Map<const Eigen::Matrix3d>(i),
                 Eigen::Map<const coupling::RigidShell::Vector6>(data_of<double>(free, "free", 6)));
           }),
           py::arg("arms"), py::arg("mass"), py::arg("inertia"), py::arg("free"))
      .def(
          "free_response",
          [](const coupling::RigidShell& s, const py::array& impulses) {
            const coupling::RigidShell::Vector6 t = s.free_response(points_of(impulses, "impulses", s.nodes()));
            return std::array<double, 6>{t[0], t[1], t[2], t[3], t[4], t[5]};
          },
          py::arg("impulses"));
  py::class_<coupling::NodalShell, ShellSolid, std::shared_ptr<coupling::NodalShell>>(m, "NodalShell")
      .def(py::init([](const py::array& masses, std::vector<std::shared_ptr<solids::Force>> forces, double stiffness,
                       double damping, const std::optional<std::tuple<py::array, py::array, py::array>>& matrix,
                       const py::array& held, const py::array& projections) {
             coupling::NodalMatrix a;
             if (matrix) {
               const auto rows = numbers_of<Index>(std::get<0>(*matrix), "indptr");
               const auto columns = numbers_of<std::int32_t>(std::get<1>(*matrix), "indices");
               const auto values = numbers_of<double>(std::get<2>(*matrix), "data", static_cast<Index>(columns.size()));
               require(!rows.empty() && rows.back() == static_cast<Index>(columns.size()),
                       "indptr must end with the number of entries");
               a = {{rows.begin(), rows.end()}, {columns.begin(), columns.end()}, {values.begin(), values.end()}};
             }
             const auto nodes = numbers_of<std::int32_t>(held, "held");
             const auto p = numbers_of<double>(projections, "projections", 9 * static_cast<Index>(nodes.size()));
             std::vector<solids::Block3> blocks;
             // Symmetric, so that the order of rows and columns does not matter.
             for (std::size_t k = 0; k < nodes.size(); ++k)
               blocks.emplace_back(Eigen::Map<const solids::Block3>(p.data() + 9 * k));
             return std::make_shared<coupling::NodalShell>(numbers_of<double>(masses, "masses"), std::move(forces), stiffness,
                                                           damping, std::move(a), nodes, blocks);
           }),
           py::arg("masses"), py::arg("forces"), py::arg("stiffness"), py::arg("damping"), py::arg("matrix"), py::arg("held"),
           py::arg("projections"))
      .def(
          "couple",
          [](coupling::NodalShell& s, const py::array& elements, int corners) {
            const auto e = numbers_of<std::int32_t>(elements, "elements");
            interruptible([&] { s.couple(e, corners); });
          },
          py::arg("elements"), py::arg("corners"))
      .def_property_readonly("factored", &coupling::NodalShell::factored)
      .def(
          "multiply",
          [](const coupling::NodalShell& s, const py::array& v, const py::array& out) {
            const auto from = points_of(v, "velocities", s.nodes());
            const auto to = writable_points(out, "out", s.nodes());
            interruptible([&] { s.multiply(from, to); });
          },
          py::arg("velocities"), py::arg("out"));
}

template <int D>
std::array<double*, D> faces_of(const std::array<py::array, D>& faces, const char* name, const Coord<D>& cells, bool writable) {
  std::array<double*, D> data;
  for (int d = 0; d < D; ++d)
    data[d] = data_of<double>(faces[d], name, product<D>(grid::Stagger<D>::face(d).extents(cells)), writable);
  return data;
}

template <int D>
std::array<const double*, D> faces_of(const std::array<py::array, D>& faces, const char* name, const Coord<D>& cells) {
  std::array<const double*, D> data;
  std::ranges::copy(faces_of<D>(faces, name, cells, false), data.begin());
  return data;
}

template <int D>
using FaceArrays = std::array<py::array, D>;

template <int D>
void bind_face_flows(py::module_& m) {
  using GridType = grid::Grid<D>;
  m.def(
      "find_liquid_face_masses",
      [](const GridType& g, const py::array& phi, double half, double shallowest, const std::array<bool, 2 * D>& open,
         const FaceArrays<D>& masses) {
        const Coord<D>& cells = g.local_shape();
        const double* const levels = data_of<double>(phi, "phi", product<D>(cells));
        const auto out = faces_of<D>(masses, "masses", cells, true);
        interruptible([&] { coupling::find_liquid_face_masses<D>(g, levels, half, shallowest, open, out); });
      },
      py::arg("grid"), py::arg("phi"), py::arg("half"), py::arg("shallowest"), py::arg("open"), py::arg("masses"));
  m.def(
      "find_face_conductances",
      [](const GridType& g, const FaceArrays<D>& areas, const FaceArrays<D>& masses, const FaceArrays<D>& out) {
        const Coord<D>& cells = g.local_shape();
        const auto a = faces_of<D>(areas, "areas", cells), b = faces_of<D>(masses, "masses", cells);
        const auto to = faces_of<D>(out, "out", cells, true);
        interruptible([&] { coupling::find_face_conductances<D>(g, a, b, to); });
      },
      py::arg("grid"), py::arg("areas"), py::arg("masses"), py::arg("out"));
  m.def(
      "find_face_divergence",
      [](const GridType& g, const FaceArrays<D>& areas, const FaceArrays<D>& velocities, const py::array& active,
         const py::array& out) {
        const Coord<D>& cells = g.local_shape();
        const Index n = product<D>(cells);
        const auto a = faces_of<D>(areas, "areas", cells), v = faces_of<D>(velocities, "velocities", cells);
        const auto* const mask = mask_of(active, "active", n);
        double* const to = data_of<double>(out, "out", n, true);
        interruptible([&] { coupling::find_face_divergence<D>(g, a, v, mask, to); });
      },
      py::arg("grid"), py::arg("areas"), py::arg("velocities"), py::arg("active"), py::arg("out"));
  m.def(
      "accelerate_faces",
      [](const GridType& g, const FaceArrays<D>& areas, const FaceArrays<D>& masses, const py::array& pressure,
         const FaceArrays<D>& velocities) {
        const Coord<D>& cells = g.local_shape();
        const auto a = faces_of<D>(areas, "areas", cells), b = faces_of<D>(masses, "masses", cells);
        const double* const p = data_of<double>(pressure, "pressure", product<D>(cells));
        const auto to = faces_of<D>(velocities, "velocities", cells, true);
        interruptible([&] { coupling::accelerate_faces<D>(g, a, b, p, to); });
      },
      py::arg("grid"), py::arg("areas"), py::arg("masses"), py::arg("pressure"), py::arg("velocities"));
}

template <int D>
struct BoundSystem {
  explicit BoundSystem(const grid::Grid<D>& grid) : system(grid), cells(grid.block().shape) {}
  coupling::ShellSystem<D> system;
  Coord<D> cells;
};

template <int D>
bool prepare(BoundSystem<D>& s, const std::array<py::array, D>& fluid, const std::array<py::array, D>& linked,
             const py::array& active, const py::array& side_cells, const py::array& axes, const py::array& signs,
             const py::array& areas, const py::array& masses, const py::array& nodes, const py::array& weights,
             const py::array& cut_cells, const py::array& links, std::vector<SolidPointer> solids) {
  const auto f = faces_of<D>(fluid, "fluid", s.cells), l = faces_of<D>(linked, "linked", s.cells);
  const auto* const mask = mask_of(active, "active", product<D>(s.cells));
  const auto cell = numbers_of<Index>(side_cells, "cells");
  const auto n = static_cast<Index>(cell.size());
  const auto axis = numbers_of<std::int32_t>(axes, "axes", n);
  const auto sign = numbers_of<double>(signs, "signs", n), area = numbers_of<double>(areas, "areas", n);
  const auto mass = numbers_of<double>(masses, "masses", n), weight = numbers_of<double>(weights, "weights", 3 * n);
  const auto node = numbers_of<std::int32_t>(nodes, "nodes", 3 * n);
  std::vector<coupling::SheetSide> sides(cell.size());
  for (std::size_t k = 0; k < sides.size(); ++k)
    sides[k] = {cell[k],
                axis[k],
                sign[k],
                area[k],
                mass[k],
                {node[3 * k], node[3 * k + 1], node[3 * k + 2]},
                {weight[3 * k], weight[3 * k + 1], weight[3 * k + 2]}};
  const auto link = numbers_of<double>(links, "links");
  const auto pair = numbers_of<Index>(cut_cells, "cut_cells", 2 * static_cast<Index>(link.size()));
  std::vector<coupling::CutFace> cuts(link.size());
  for (std::size_t k = 0; k < cuts.size(); ++k) cuts[k] = {pair[2 * k], pair[2 * k + 1], link[k]};
  return interruptible([&] { return s.system.prepare(f, l, mask, std::move(sides), std::move(cuts), std::move(solids)); });
}

template <int D>
void bind_system(py::module_& m, const char* name) {
  using System = BoundSystem<D>;
  py::class_<System>(m, name)
      .def(py::init<const grid::Grid<D>&>(), py::arg("grid"))
      .def("prepare", &prepare<D>, py::arg("fluid"), py::arg("linked"), py::arg("active"), py::arg("cells"), py::arg("axes"),
           py::arg("signs"), py::arg("areas"), py::arg("masses"), py::arg("nodes"), py::arg("weights"), py::arg("cut_cells"),
           py::arg("links"), py::arg("solids"))
      .def(
          "respond",
          [](System& s, const py::array& impulses, const py::array& out) {
            const Index n = s.system.node_count();
            const auto f = points_of(impulses, "impulses", n);
            const auto v = writable_points(out, "out", n);
            interruptible([&] { s.system.respond(f, v); });
          },
          py::arg("impulses"), py::arg("out"))
      .def(
          "side_velocities",
          [](System& s, const py::array& velocities, const py::array& out) {
            const auto v = points_of(velocities, "velocities", s.system.node_count());
            double* const to = data_of<double>(out, "out", s.system.side_count(), true);
            interruptible([&] { s.system.side_velocities(v, {to, static_cast<std::size_t>(s.system.side_count())}); });
          },
          py::arg("velocities"), py::arg("out"))
      .def(
          "gather_impulses",
          [](System& s, const py::array& values, const py::array& out) {
            const auto from = numbers_of<double>(values, "values", s.system.side_count());
            const auto f = writable_points(out, "out", s.system.node_count());
            interruptible([&] { s.system.gather_impulses(from, f); });
          },
          py::arg("values"), py::arg("out"))
      .def(
          "solve",
          [](System& s, const py::array& rhs, const py::array& x, const numerics::SolveOptions& options) {
            const Index n = product<D>(s.cells);
            const double* const b = data_of<double>(rhs, "rhs", n);
            double* const to = data_of<double>(x, "x", n, true);
            numerics::SolveInfo info;
            coupling::ShellSolveReport report;
            interruptible([&] { s.system.solve(b, to, options, info, report); });
            return py::make_tuple(info, report.inner_iterations, report.inner_residual, report.incompatible);
          },
          py::arg("rhs"), py::arg("x"), py::arg("options"))
      .def(
          "product",
          [](System& s, const py::array& x, const py::array& out) {
            const Index n = product<D>(s.cells);
            const double* const from = data_of<double>(x, "x", n);
            double* const to = data_of<double>(out, "out", n, true);
            interruptible([&] { s.system.product(from, to); });
          },
          py::arg("x"), py::arg("out"))
      .def_property_readonly("closed_regions", [](const System& s) { return s.system.regions().cells; })
      .def_property_readonly("null_vectors", [](const System& s) { return s.system.null_vectors(); });
}

}  // namespace

void bind_shell_pressure(py::module_& m) {
  bind_solids(m);
  bind_face_flows<2>(m);
  bind_face_flows<3>(m);
  bind_system<2>(m, "ShellSystem2");
  bind_system<3>(m, "ShellSystem3");
}

}  // namespace meniscus::bindings
