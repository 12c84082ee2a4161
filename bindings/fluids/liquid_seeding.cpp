// Seeding of liquid particles by region, their outflow, and measures of their density.
#include "bridge.hpp"
#include "vectors.hpp"

#include "masks.hpp"

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

template <class T, int D>
void bind_seeding_functions(py::module_& m, py::class_<fluids::LiquidRegion<D>>& region) {
  using F = grid::Field<T, D>;
  using Solid = std::optional<grid::Field<double, D>*>;
  region.def(
      "seed",
      [](const fluids::LiquidRegion<D>& r, grid::ParticleSet& particles, F& phi, Index per_cell, double jitter,
         std::uint64_t seed, const std::array<double, D>& offset, const std::array<double, D>& velocity, Solid solid,
         Workspace& workspace) {
        const auto seeding = seeding_of<D>(per_cell, jitter, seed, offset, velocity);
        const fluids::PointTest inside = [&](const double* x, Index n, std::uint8_t* flags) { r.mark_inside(x, n, flags); };
        return interruptible(
            [&] { return fluids::seed_liquid<T, D>(particles, phi, inside, seeding, solid.value_or(nullptr), workspace); });
      },
      py::arg("particles"), py::arg("phi"), py::arg("per_cell"), py::arg("jitter"), py::arg("seed"), py::arg("offset"),
      py::arg("velocity"), py::arg("solid"), py::arg("workspace"));
  m.def(
      "seed_liquid",
      [](grid::ParticleSet& particles, F& levelset, Index per_cell, double jitter, std::uint64_t seed,
         const std::array<double, D>& offset, const std::array<double, D>& velocity, Solid solid, Workspace& workspace) {
        const auto seeding = seeding_of<D>(per_cell, jitter, seed, offset, velocity);
        return interruptible(
            [&] { return fluids::seed_liquid<T, D>(particles, levelset, seeding, solid.value_or(nullptr), workspace); });
      },
      py::arg("particles"), py::arg("levelset"), py::arg("per_cell"), py::arg("jitter"), py::arg("seed"), py::arg("offset"),
      py::arg("velocity"), py::arg("solid"), py::arg("workspace"));
  m.def(
      "density_excess",
      [](const F& density, double per_cell, F& levelset, Solid solid, grid::MacField<T, D>& velocity, double dt, double time,
         double rate, F& excess) {
        const fluids::CorrectedStrain<T, D> strain{velocity, dt, time, rate};
        interruptible([&] {
          fluids::density_excess(density, per_cell, levelset, solid.value_or(nullptr), std::isfinite(rate) ? &strain : nullptr,
                                 excess);
        });
      },
      py::arg("density"), py::arg("per_cell"), py::arg("levelset"), py::arg("solid"), py::arg("velocity"), py::arg("dt"),
      py::arg("time"), py::arg("rate"), py::arg("excess"));
  m.def(
      "apply_boundary_and_remove",
      [](grid::ParticleSet& particles, const grid::MacField<T, D>& velocity, const grid::OpenSides<D>& open, Solid solid,
         Workspace& workspace) {
        const grid::ParticleBoundary<D> boundary{open, solid.value_or(nullptr), grid::InSolid::push_out};
        const auto counts = interruptible(
            [&] { return fluids::apply_boundary_and_remove<T, D>(velocity.grid(), boundary, particles, workspace); });
        return std::array<Index, 3>{counts.left, counts.in_solid, counts.pushed};
      },
      py::arg("particles"), py::arg("velocity"), py::arg("open"), py::arg("solid"), py::arg("workspace"));
}

template <int D>
void bind_region_type(py::module_& m, const char* name) {
  using R = fluids::LiquidRegion<D>;
  using Shape = surface::ImplicitShape<D>;
  py::class_<R> region(m, name);
  region
      .def(py::init([](const std::shared_ptr<Shape>& shape, const std::array<std::array<double, D>, D>& rotation,
                       const std::array<double, D>& translation, const grid::Grid<D>& grid) {
             surface::RigidPose<D> pose;
             for (int i = 0; i < D; ++i) pose.rotation.row(i) = vector_of<D>(rotation[i]).transpose();
             pose.translation = vector_of<D>(translation);
             return R(shape, pose, grid);
           }),
           py::arg("shape"), py::arg("rotation"), py::arg("translation"), py::arg("grid"))
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
  if constexpr (D == 3) bind_seeding_functions<float, D>(m, region);
  bind_seeding_functions<double, D>(m, region);
}

}  // namespace

void bind_liquid_seeding(py::module_& m) {
  m.attr("LARGEST_DENSITY_CHANGE") = fluids::largest_density_change;
  bind_region_type<2>(m, "LiquidRegion2");
  bind_region_type<3>(m, "LiquidRegion3");
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
