// Pressure problems and their solver.
#include "fluids/body_owners.hpp"
#include "masks.hpp"
#include "solids/body_arrays.hpp"

#include "meniscus/fluids/pressure/projection.hpp"

#include <algorithm>
#include <optional>

namespace meniscus::bindings {
namespace {

template <class T, int D>
fluids::PressureProblem<T, D> make_pressure_problem(
    const grid::Grid<D>& grid, double density, const Field<T, D>* density_field, grid::SolidBoundary<T, D>* solid,
    const Field<T, D>* liquid, const std::optional<py::array>& liquid_mask,
    const std::optional<std::array<py::array, D>>& given_faces, double air_pressure, const std::optional<py::array>& solved_air,
    double air_density, const Field<T, D>* surface_pressure, const Field<T, D>* target_divergence, Field<double, D>* pressure,
    bool warm_start, double time, const std::array<double, D>& acceleration, fluids::MovingBodies* bodies,
    const std::optional<std::array<py::array, D>>& owners, const std::optional<std::array<py::array, D>>& films) {
  fluids::PressureProblem<T, D> p;
  p.density = density;
  p.density_field = density_field;
  p.solid = solid;
  p.liquid = liquid;
  if (liquid_mask) p.liquid_mask = mask_of(*liquid_mask, "liquid", product<D>(grid.local_shape()));
  if (given_faces) p.given_faces = face_masks_of<D>(*given_faces, "given_faces", grid.local_shape());
  p.air_pressure = air_pressure;
  if (solved_air) p.solved_air = mask_of(*solved_air, "solved_air", product<D>(grid.local_shape()));
  p.air_density = air_density;
  p.surface_pressure = surface_pressure;
  p.target_divergence = target_divergence;
  p.pressure = pressure;
  p.warm_start = warm_start;
  p.time = time;
  p.acceleration = Eigen::Map<const Vec<double, D>>(acceleration.data());
  p.bodies = bodies;
  require((bodies != nullptr) == films.has_value(), "bodies and the faces along films go together");
  if (films) p.films = face_masks_of<D>(*films, "films", grid.local_shape());
  p.owners = body_owners<D>(grid.local_shape(), bodies, owners);
  return p;
}

/// The fields and arrays of a problem live as long as its Python object.
template <class T, int D>
void bind_pressure_problem(py::module_& m, const char* name) {
  using py::arg;
  const auto none = py::none();
  py::class_<fluids::PressureProblem<T, D>>(m, name).def(
      py::init(&make_pressure_problem<T, D>), arg("grid"), arg("density") = 1.0, arg("density_field") = none, arg("solid") = none,
      arg("liquid") = none, arg("liquid_mask") = none, arg("given_faces") = none, arg("air_pressure") = 0.0,
      arg("solved_air") = none, arg("air_density") = 1.2, arg("surface_pressure") = none, arg("target_divergence") = none,
      arg("pressure") = none, arg("warm_start") = false, arg("time") = 0.0, arg("acceleration") = std::array<double, D>{},
      arg("bodies") = none, arg("owners") = none, arg("films") = none, py::keep_alive<1, 4>(), py::keep_alive<1, 5>(),
      py::keep_alive<1, 6>(), py::keep_alive<1, 7>(), py::keep_alive<1, 8>(), py::keep_alive<1, 10>(), py::keep_alive<1, 12>(),
      py::keep_alive<1, 13>(), py::keep_alive<1, 14>(), py::keep_alive<1, 18>(), py::keep_alive<1, 19>(),
      py::keep_alive<1, 20>());
}

using fluids::Vector6;

/// Rows of N numbers.
template <std::size_t N>
std::vector<Eigen::Matrix<double, static_cast<int>(N), 1>> rows_of_numbers(const py::array& a, const char* name, Index rows) {
  const double* const from = data_of<double>(a, name, static_cast<Index>(N) * rows);
  std::vector<Eigen::Matrix<double, static_cast<int>(N), 1>> out;
  for (const double* row = from; row != from + static_cast<Index>(N) * rows; row += N) out.emplace_back(row);
  return out;
}

std::unique_ptr<fluids::MovingBodies> make_bodies(const py::array& centers, const py::array& masses, const py::array& inertias,
                                                  const py::array& velocities, const py::array& carried,
                                                  const py::array& impulses, const py::array& hydrostatic,
                                                  const py::array& planes, const py::array& owners, const py::array& held,
                                                  const py::array& rows, const py::array& free, const py::array& predicted,
                                                  const py::array& added,
                                                  const std::vector<std::shared_ptr<fluids::SoftBody>>& soft) {
  const auto n = static_cast<Index>(masses.size()), k = static_cast<Index>(held.size() / 2);
  const auto x = rows_of_numbers<3>(centers, "centers", n), g = rows_of_numbers<3>(hydrostatic, "hydrostatic", n);
  const auto v = rows_of_numbers<6>(velocities, "velocities", n), p = rows_of_numbers<6>(impulses, "impulses", n);
  const auto m = rows_of_numbers<1>(masses, "masses", n);
  const auto i = rows_of_numbers<9>(inertias, "inertias", n);
  const auto jacobians = rows_of_numbers<12>(rows, "rows", k);
  const auto c = rows_of_numbers<6>(carried, "carried", n), ahead = rows_of_numbers<6>(predicted, "predicted", n);
  const auto more = rows_of_numbers<36>(added, "added", n);
  std::vector<fluids::MovingBody> bodies;
  for (std::size_t b = 0; b < m.size(); ++b)
    bodies.push_back({x[b],
                      m[b][0],
                      Eigen::Map<const Eigen::Matrix3d>(i[b].data()),
                      v[b],
                      c[b],
                      p[b],
                      g[b],
                      {},
                      ahead[b],
                      Eigen::Map<const fluids::Matrix6>(more[b].data()),
                      nullptr});
  // Those that deform come last.
  require(soft.size() <= bodies.size(), "more deformable bodies than bodies");
  for (std::size_t s = 0; s < soft.size(); ++s) bodies[bodies.size() - soft.size() + s].soft = soft[s];
  const auto faces = static_cast<Index>(owners.size());
  const auto of_faces = rows_of_numbers<4>(planes, "planes", faces);
  const auto* const of_body = data_of<std::int32_t>(owners, "plane_owners", faces);
  for (std::size_t f = 0; f < of_faces.size(); ++f) {
    require(of_body[f] >= 0 && of_body[f] < n, "plane_owners must be numbers of bodies");
    bodies[of_body[f]].planes.push_back(of_faces[f]);
  }
  const auto* const ends = data_of<std::int32_t>(held, "held", 2 * k);
  std::vector<fluids::BodyConstraint> constraints;
  for (std::size_t r = 0; r < jacobians.size(); ++r)
    constraints.push_back({{ends[2 * r], ends[2 * r + 1]}, {Vector6(jacobians[r].head<6>()), Vector6(jacobians[r].tail<6>())}});
  return std::make_unique<fluids::MovingBodies>(std::move(bodies), std::move(constraints),
                                                rows_of_numbers<6>(free, "free", 1)[0]);
}

py::array_t<double> array_of(const std::vector<Vector6>& rows) {
  py::array_t<double> out({static_cast<py::ssize_t>(rows.size()), py::ssize_t{6}});
  for (std::size_t r = 0; r < rows.size(); ++r) std::copy(rows[r].begin(), rows[r].end(), out.mutable_data() + 6 * r);
  return out;
}

std::span<const double> numbers_of(const py::array& a, const char* name) {
  return {data_of<double>(a, name), static_cast<std::size_t>(a.size())};
}

py::array_t<double> rows_of_three(std::span<const double> values) {
  py::array_t<double> out({static_cast<py::ssize_t>(values.size() / 3), py::ssize_t{3}});
  std::copy(values.begin(), values.end(), out.mutable_data());
  return out;
}

void bind_soft_bodies(py::module_& m) {
  using py::arg;
  py::class_<fluids::SolidResponse, std::shared_ptr<fluids::SolidResponse>>(m, "SolidResponse");
  py::class_<fluids::NodePlaces, std::shared_ptr<fluids::NodePlaces>>(m, "NodePlaces")
      .def(py::init([](const py::array& nodes, const py::array& tets, const py::array& surface) {
             const auto rows = elements_of<4>(tets, "tets");
             const auto triangles = elements_of<3>(surface, "surface");
             return std::make_shared<fluids::NodePlaces>(positions_of(nodes, "nodes"), rows, triangles);
           }),
           arg("nodes"), arg("tets"), arg("surface"))
      .def(
          "move", [](fluids::NodePlaces& p, const py::array& nodes) { p.move(positions_of(nodes, "nodes")); }, arg("nodes"))
      .def(
          "velocities",
          [](const fluids::NodePlaces& p, const py::array& points, const py::array& nodes, int axis) {
            const auto x = positions_of(points, "points");
            require(axis >= 0 && axis < 3, "axis must be 0, 1 or 2, not ", axis);
            py::array_t<double> out(static_cast<py::ssize_t>(x.size()));
            p.velocities(x, points_of(nodes, "velocities", p.count()), axis, {out.mutable_data(), x.size()});
            return out;
          },
          arg("points"), arg("nodes"), arg("axis"));
  py::class_<fluids::SoftBody, std::shared_ptr<fluids::SoftBody>>(m, "SoftBody")
      .def(py::init([](std::shared_ptr<fluids::SolidResponse> step, std::shared_ptr<fluids::NodePlaces> places,
                       const py::array& masses, const py::array& start, const py::array& free) {
             return std::make_shared<fluids::SoftBody>(std::move(step), std::move(places), numbers_of(masses, "masses"),
                                                       numbers_of(start, "start"), numbers_of(free, "free"));
           }),
           arg("step"), arg("places"), arg("masses"), arg("start"), arg("free"))
      .def_property_readonly("velocities", [](const fluids::SoftBody& b) { return rows_of_three(b.velocities_after()); })
      .def_property_readonly("given", [](const fluids::SoftBody& b) { return rows_of_three(b.given()); })
      .def_property_readonly("work", &fluids::SoftBody::work);
  py::class_<fluids::RootResponse, fluids::SolidResponse, std::shared_ptr<fluids::RootResponse>>(m, "RootResponse")
      .def(py::init([](const py::array& root, Index columns) {
             const Index rows = static_cast<Index>(root.size()) / std::max<Index>(columns, 1);
             return std::make_shared<fluids::RootResponse>(
                 Eigen::Map<const fluids::RootResponse::Root>(data_of<double>(root, "root", rows * columns), rows, columns));
           }),
           arg("root"), arg("columns"));
}

void bind_bodies(py::module_& m) {
  using py::arg;
  bind_soft_bodies(m);
  py::class_<fluids::MovingBodies>(m, "MovingBodies")
      .def(py::init(&make_bodies), arg("centers"), arg("masses"), arg("inertias"), arg("velocities"), arg("carried"),
           arg("impulses"), arg("hydrostatic"), arg("planes"), arg("plane_owners"), arg("held"), arg("rows"), arg("free"),
           arg("predicted"), arg("added"), arg("soft"))
      .def_property_readonly("count", &fluids::MovingBodies::count)
      .def_property_readonly_static("film_opening", [](const py::object&) { return fluids::MovingBodies::film_opening; })
      .def_property_readonly("velocities", [](const fluids::MovingBodies& b) { return array_of(b.velocities_after()); })
      .def_property_readonly("impulses", [](const fluids::MovingBodies& b) { return array_of(b.impulses()); })
      .def_property_readonly("attached", [](const fluids::MovingBodies& b) {
        py::array_t<double> out({static_cast<py::ssize_t>(b.count()), py::ssize_t{6}, py::ssize_t{6}});
        for (Index k = 0; k < b.count(); ++k)
          std::copy(b.attached(k).data(), b.attached(k).data() + 36, out.mutable_data() + 36 * k);
        return out;
      });
}

/// Facts about the solve, seconds of setup, and (cells, closed, first cell, flux, residual) of each region.
template <int D>
py::tuple pressure_report(const fluids::ProjectionReport<D>& report) {
  py::list regions;
  for (const auto& r : report.regions) regions.append(py::make_tuple(r.cells, r.closed, r.first_cell, r.flux, r.residual));
  return py::make_tuple(report.solve, report.setup_seconds, regions);
}

}  // namespace

void bind_pressure(py::module_& m) {
  py::native_enum<fluids::FluxCorrection>(m, "FluxCorrection", "enum.Enum")
      .value("volume", fluids::FluxCorrection::volume)
      .value("walls", fluids::FluxCorrection::walls)
      .finalize();
  py::class_<fluids::ProjectionOptions>(m, "ProjectionOptions")
      .def(py::init<const numerics::SolveOptions&, fluids::FluxCorrection, bool>(), py::arg("solve"), py::arg("flux_correction"),
           py::arg("accept_unconverged"));
  bind_bodies(m);
  bind_pressure_problem<double, 2>(m, "PressureProblem2d");
  bind_pressure_problem<float, 3>(m, "PressureProblem3f");
  bind_pressure_problem<double, 3>(m, "PressureProblem3d");
  const auto solver2 = py::class_<fluids::PressureSolver<2>>(m, "PressureSolver2")
                           .def_property_readonly("bytes", &fluids::PressureSolver<2>::bytes);
  const auto solver3 = py::class_<fluids::PressureSolver<3>>(m, "PressureSolver3")
                           .def_property_readonly("bytes", &fluids::PressureSolver<3>::bytes);
  def_dimensions(
      m, "new_pressure_solver",
      []<int D>(const grid::Grid<D>& grid) { return std::make_unique<fluids::PressureSolver<D>>(grid); }, py::arg("grid"));
  def_field_methods(
      {solver2, solver3}, "project",
      []<class T, int D>(fluids::PressureSolver<D>& solver, MacField<T, D>& velocity, double dt,
                         const fluids::PressureProblem<T, D>& problem, const fluids::ProjectionOptions& options) {
        fluids::ProjectionReport<D> report;
        interruptible([&] { solver.project(velocity, dt, problem, options, report); });
        return pressure_report(report);
      },
      py::arg("velocity"), py::arg("dt"), py::arg("problem"), py::arg("options"));
  def_field_methods(
      {solver2, solver3}, "divergence",
      []<class T, int D>(fluids::PressureSolver<D>& solver, const MacField<T, D>& velocity, grid::SolidBoundary<T, D>* solid,
                         Field<T, D>& out) { interruptible([&] { solver.divergence(velocity, solid, out); }); },
      py::arg("velocity"), py::arg("solid"), py::arg("out"));
}

}  // namespace meniscus::bindings
