// Seeding of liquid particles by region, their outflow, and measures of their density.
#include "any_field.hpp"
#include "masks.hpp"
#include "vectors.hpp"

#include "meniscus/fluids/particles/liquid_seeding.hpp"
#include "meniscus/fluids/particles/particle_measures.hpp"
#include "meniscus/fluids/particles/particle_outflow.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

template <int D>
fluids::LiquidSeeding<D> seeding_of(Index per_cell, double jitter, std::uint64_t seed, const std::array<double, D>& offset,
                                    const std::array<double, D>& velocity) {
  return {per_cell, jitter, seed, vector_of<D>(offset), vector_of<D>(velocity)};
}

template <int D>
py::class_<fluids::LiquidRegion<D>> bind_region_type(py::module_& m, const char* name) {
  using R = fluids::LiquidRegion<D>;
  py::class_<R> region(m, name);
  region
      .def(
          "set_velocity",
          [](const R& r, grid::ParticleSet& particles, const std::array<double, D>& velocity, Workspace& workspace) {
            interruptible([&] {
              const auto v = vector_of<D>(velocity);
              grid::with_scalar<D>(particles, [&]<class T>(T) { fluids::set_velocity_in<T, D>(particles, r, v, workspace); });
            });
          },
          py::arg("particles"), py::arg("velocity"), py::arg("workspace"))
      .def(
          "remove",
          [](const R& r, grid::ParticleSet& particles, Workspace& workspace) {
            return interruptible([&] {
              return grid::with_scalar<D>(particles,
                                          [&]<class T>(T) { return fluids::remove_particles_in<T, D>(particles, r, workspace); });
            });
          },
          py::arg("particles"), py::arg("workspace"))
      .def(
          "mark_inside",
          [](const R& r, const py::array& points, const py::array& out) {
            const Index n = points.size() / D;
            const double* const x = data_of<double>(points, "points", n * D);
            std::uint8_t* const inside = mask_of(out, "out", n, true);
            interruptible([&] { r.mark_inside(x, n, inside); });
          },
          py::arg("points"), py::arg("out"));
  return region;
}

}  // namespace

void bind_liquid_seeding(py::module_& m) {
  m.attr("LARGEST_DENSITY_CHANGE") = fluids::largest_density_change;
  const auto region2 = bind_region_type<2>(m, "LiquidRegion2");
  const auto region3 = bind_region_type<3>(m, "LiquidRegion3");
  def_dimensions(
      m, "new_liquid_region",
      []<int D>(const std::shared_ptr<surface::ImplicitShape<D>>& shape, const std::array<std::array<double, D>, D>& rotation,
                const std::array<double, D>& translation, const grid::Grid<D>& grid) {
        surface::RigidPose<D> pose;
        for (int i = 0; i < D; ++i) pose.rotation.row(i) = vector_of<D>(rotation[i]).transpose();
        pose.translation = vector_of<D>(translation);
        return std::make_unique<fluids::LiquidRegion<D>>(shape, pose, grid);
      },
      py::arg("shape"), py::arg("rotation"), py::arg("translation"), py::arg("grid"));
  def_field_methods(
      {region2, region3}, "seed",
      []<class T, int D>(const fluids::LiquidRegion<D>& r, grid::ParticleSet& particles, Field<T, D>& phi, Index per_cell,
                         double jitter, std::uint64_t seed, const std::array<double, D>& offset,
                         const std::array<double, D>& velocity, Field<double, D>* solid, Workspace& workspace) {
        const auto seeding = seeding_of<D>(per_cell, jitter, seed, offset, velocity);
        const fluids::PointTest inside = [&](const double* x, Index n, std::uint8_t* flags) { r.mark_inside(x, n, flags); };
        return interruptible([&] { return fluids::seed_liquid<T, D>(particles, phi, inside, seeding, solid, workspace); });
      },
      py::arg("particles"), py::arg("phi"), py::arg("per_cell"), py::arg("jitter"), py::arg("seed"), py::arg("offset"),
      py::arg("velocity"), py::arg("solid"), py::arg("workspace"));
  def_fields(
      m, "seed_liquid",
      []<class T, int D>(grid::ParticleSet& particles, Field<T, D>& levelset, Index per_cell, double jitter, std::uint64_t seed,
                         const std::array<double, D>& offset, const std::array<double, D>& velocity, Field<double, D>* solid,
                         Workspace& workspace) {
        const auto seeding = seeding_of<D>(per_cell, jitter, seed, offset, velocity);
        return interruptible([&] { return fluids::seed_liquid<T, D>(particles, levelset, seeding, solid, workspace); });
      },
      py::arg("particles"), py::arg("levelset"), py::arg("per_cell"), py::arg("jitter"), py::arg("seed"), py::arg("offset"),
      py::arg("velocity"), py::arg("solid"), py::arg("workspace"));
  def_fields(
      m, "density_excess",
      []<class T, int D>(const Field<T, D>& density, double per_cell, Field<T, D>& levelset, Field<double, D>* solid,
                         MacField<T, D>& velocity, double dt, double time, std::optional<double> rate, Field<T, D>& excess) {
        const fluids::CorrectedStrain<T, D> strain{velocity, dt, time, rate.value_or(0.0)};
        interruptible([&] { fluids::density_excess(density, per_cell, levelset, solid, rate ? &strain : nullptr, excess); });
      },
      py::arg("density"), py::arg("per_cell"), py::arg("levelset"), py::arg("solid"), py::arg("velocity"), py::arg("dt"),
      py::arg("time"), py::arg("rate"), py::arg("excess"));
  def_fields(
      m, "apply_boundary_and_remove",
      []<class T, int D>(grid::ParticleSet& particles, const MacField<T, D>& velocity, const grid::OpenSides<D>& open,
                         Field<double, D>* solid, Workspace& workspace) {
        const grid::ParticleBoundary<D> boundary{open, solid, grid::InSolid::push_out};
        const auto counts = interruptible(
            [&] { return fluids::apply_boundary_and_remove<T, D>(velocity.grid(), boundary, particles, workspace); });
        return std::array<Index, 3>{counts.left, counts.in_solid, counts.pushed};
      },
      py::arg("particles"), py::arg("velocity"), py::arg("open"), py::arg("solid"), py::arg("workspace"));
  m.def(
      "largest_value",
      [](parallel::Communicator& c, grid::ParticleSet& p, const std::string& column) {
        return interruptible([&] { return fluids::largest_value(c, p, column); });
      },
      py::arg("communicator"), py::arg("particles"), py::arg("column"));
  m.def(
      "sum_of_squares",
      [](parallel::Communicator& c, grid::ParticleSet& p, const std::string& column) {
        return interruptible([&] { return fluids::sum_of_squares(c, p, column); });
      },
      py::arg("communicator"), py::arg("particles"), py::arg("column"));
}

}  // namespace meniscus::bindings
