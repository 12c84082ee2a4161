// What liquids exchange with others: momentum, drops, room for what they absorb, pressure gradients.
#include "any_field.hpp"
#include "masks.hpp"
#include "vectors.hpp"

#include "meniscus/fluids/exchange/drop_absorption.hpp"
#include "meniscus/fluids/exchange/gathered_drops.hpp"
#include "meniscus/fluids/exchange/pressure_gradient.hpp"
#include "meniscus/fluids/exchange/room_for_drops.hpp"
#include "meniscus/fluids/exchange/velocity_exchange.hpp"

namespace meniscus::bindings {
namespace {

template <class T>
py::array_t<T> array_from(const std::vector<T>& values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

/// Rows of positions.
template <int D>
py::array rows_from(const std::vector<double>& values) {
  return array_from(values).reshape({static_cast<py::ssize_t>(values.size()) / D, static_cast<py::ssize_t>(D)});
}

template <int D>
py::tuple vector_tuple(const fluids::VectorSum& v) {
  if constexpr (D == 2) return py::make_tuple(v[0], v[1]);
  return py::make_tuple(v[0], v[1], v[2]);
}

template <class T, int D>
std::array<const T*, D> face_values_of(const std::array<py::array, D>& arrays, const char* name, const Coord<D>& cells) {
  std::array<const T*, D> values;
  for (int d = 0; d < D; ++d) values[d] = data_of<T>(arrays[d], name, product<D>(grid::Stagger<D>::face(d).extents(cells)));
  return values;
}

void bind_face_exchange(py::module_& m) {
  def_fields(
      m, "face_volumes",
      []<class T, int D>(Field<T, D>& levelset, Field<double, D>* solid, int axis, const py::array& volumes) {
        auto* out =
            data_of<double>(volumes, "volumes", product<D>(grid::Stagger<D>::face(axis).extents(levelset.extents())), true);
        interruptible([&] { fluids::face_volumes<T, D>(levelset, solid, axis, out); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("axis"), py::arg("volumes"));
  def_fields(
      m, "liquid_momentum",
      []<class T, int D>(const MacField<T, D>& velocity, Field<T, D>& levelset, Field<double, D>* solid) {
        return vector_tuple<D>(interruptible([&] { return fluids::liquid_momentum(velocity, levelset, solid); }));
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("solid"));
  def_fields(
      m, "blend_velocity",
      []<class T, int D>(MacField<T, D>& velocity, Field<T, D>& levelset, Field<double, D>* solid,
                         const std::array<py::array, D>& values, const std::array<py::array, D>& weights) {
        const auto v = face_values_of<T, D>(values, "values", levelset.extents());
        const auto w = face_values_of<T, D>(weights, "weights", levelset.extents());
        return vector_tuple<D>(interruptible([&] { return fluids::blend_velocity<T, D>(velocity, levelset, solid, v, w); }));
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("solid"), py::arg("values"), py::arg("weights"));
  def_fields(
      m, "give_to_region",
      []<class T, int D>(MacField<T, D>& velocity, Field<T, D>& levelset, Field<double, D>* solid, Field<T, D>& region,
                         const std::array<py::array, D>& before, double volume, const std::array<double, D>& given) {
        const auto b = face_values_of<double, D>(before, "before", levelset.extents());
        interruptible([&] { fluids::give_to_region<T, D>(velocity, levelset, solid, region, b, volume, vector_of<D>(given)); });
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("solid"), py::arg("region"), py::arg("before"), py::arg("volume"),
      py::arg("given"));
  def_fields(
      m, "sample_pressure_gradient",
      []<class T, int D>(const Field<double, D>& pressure, const Field<T, D>& levelset, const Mask& solved_air,
                         double air_pressure, Field<T, D>* surface_pressure,
                         const std::optional<std::array<py::array, D>>& closed, const py::array& points,
                         const py::array& gradients) {
        std::array<const std::uint8_t*, D> masks{};
        if (closed) masks = face_masks_of<D>(*closed, "closed", levelset.extents());
        const fluids::LiquidPressure<T, D> liquid{
            pressure,     levelset,         mask_of(solved_air, "solved_air", product<D>(levelset.extents())),
            air_pressure, surface_pressure, masks};
        const T* x = data_of<T>(points, "points");
        const Index n = points.size() / D;
        T* out = data_of<T>(gradients, "gradients", n * D, true);
        interruptible([&] { fluids::sample_pressure_gradient<T, D>(liquid, x, n, out); });
      },
      py::arg("pressure"), py::arg("levelset"), py::arg("solved_air"), py::arg("air_pressure"), py::arg("surface_pressure"),
      py::arg("closed"), py::arg("points"), py::arg("gradients"));
}

void bind_drop_exchange(py::module_& m) {
  using P = grid::ParticleSet;
  def_fields(
      m, "absorb_drops",
      []<class T, int D>(MacField<T, D>& velocity, Field<T, D>& levelset, Field<double, D>* solid, P& drops, double time,
                         Workspace& workspace) {
        const auto a = interruptible([&] { return fluids::absorb_drops(velocity, levelset, solid, drops, time, workspace); });
        return py::make_tuple(a.count, a.volume, vector_tuple<D>(a.momentum), vector_tuple<D>(a.impulse),
                              rows_from<D>(a.positions), array_from(a.volumes));
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("solid"), py::arg("drops"), py::arg("time"), py::arg("workspace"));
  def_fields(
      m, "gather_drops",
      []<class T, int D>(MacField<T, D>& velocity, Field<T, D>& levelset, Field<double, D>* solid, P& drops, double far,
                         Field<T, D>& region, const py::array& gathered, Workspace& workspace) {
        auto* flags = mask_of(gathered, "gathered", drops.size(), true);
        const auto g = interruptible(
            [&] { return fluids::gather_drops<T, D>(velocity, levelset, solid, drops, far, region, flags, workspace); });
        return py::make_tuple(g.count, g.volume, vector_tuple<D>(g.momentum), rows_from<D>(g.positions), array_from(g.volumes));
      },
      py::arg("velocity"), py::arg("levelset"), py::arg("solid"), py::arg("drops"), py::arg("far"), py::arg("region"),
      py::arg("gathered"), py::arg("workspace"));
  def_fields(
      m, "find_room",
      []<class T, int D>(Field<T, D>& levelset, Field<double, D>* solid, const py::array& positions, const py::array& volumes) {
        const double* v = data_of<double>(volumes, "volumes");
        const double* x = data_of<double>(positions, "positions", volumes.size() * D);
        const auto room = interruptible([&] { return fluids::find_room<T, D>(levelset, solid, x, v, volumes.size()); });
        return py::make_tuple(array_from(room.cells), array_from(room.volumes), array_from(room.liquid));
      },
      py::arg("levelset"), py::arg("solid"), py::arg("positions"), py::arg("volumes"));
}

}  // namespace

void bind_liquid_exchange(py::module_& m) {
  bind_face_exchange(m);
  bind_drop_exchange(m);
}

}  // namespace meniscus::bindings
