// Hair that a mesh of tetrahedra carries.
#include "collision/triangle_arrays.hpp"
#include "mesh/mesh_arrays.hpp"

#include "meniscus/coupling/hair/hair_skin.hpp"

namespace meniscus::bindings {
namespace {

using namespace coupling;

template <class T>
std::span<const T> rows(const py::array& a, const char* name, Index n) {
  const auto* const first = data_of<typename T::value_type>(a, name, n * Index{std::tuple_size_v<T>});
  return {reinterpret_cast<const T*>(first), static_cast<std::size_t>(n)};
}

std::span<mesh::Point> points_to(const py::array& a, const char* name, Index n) {
  return {reinterpret_cast<mesh::Point*>(data_of<double>(a, name, 3 * n, true)), static_cast<std::size_t>(n)};
}

/// Offsets, corners and weights of the roots (empty: none), lengths.
HairStrands hair_strands(const std::array<py::array, 4>& arrays) {
  const Index m = arrays[0].size() - 1, n = arrays[3].size(), roots = arrays[1].size() / 3;
  require(m >= 0 && (roots == 0 || roots == m), "there must be a root per strand");
  const auto* const offsets = data_of<std::int64_t>(arrays[0], "offsets");
  require(offsets[0] == 0 && offsets[m] == n, "offsets must go from 0 to the number of points");
  return {{offsets, static_cast<std::size_t>(m + 1)},
          rows<std::array<std::int32_t, 3>>(arrays[1], "root_corners", roots),
          rows<std::array<double, 3>>(arrays[2], "root_weights", roots),
          {data_of<float>(arrays[3], "lengths", n), static_cast<std::size_t>(n)}};
}

HairPost post_of(int length, int pushout, double thickness, double depth, const py::object& distance) {
  require(length >= 0 && length < 3 && pushout >= 0 && pushout < 3, "no such treatment of lengths or depths");
  return {HairLength(length), HairPushout(pushout), thickness, depth,
          distance.is_none() ? nullptr : &distance.cast<const grid::Field<double, 3>&>()};
}

template <class W>
void skin(const HairStrands& hair, const HairPose& pose, const std::vector<std::array<py::array, 2>>& styles,
          std::span<const float> places, const HairPost& post, std::span<mesh::Point> out) {
  std::vector<HairStyle<W>> each;
  const Index n = static_cast<Index>(out.size()), count = static_cast<Index>(pose.tets.size());
  for (const auto& [tets, weights] : styles) {
    const auto* const t = data_of<std::int32_t>(tets, "tets", n);
    require(std::all_of(t, t + n, [&](std::int32_t k) { return k >= 0 && k < count; }), "points must hang on the tetrahedra");
    each.push_back({{t, out.size()}, rows<std::array<W, 3>>(weights, "weights", n)});
  }
  interruptible([&] { skin_hair<W>(hair, pose, each, places, post, out); });
}

}  // namespace

void bind_hair_coat(py::module_& m) {
  m.def(
      "skin_hair",
      [](const std::array<py::array, 4>& strands, const std::array<py::array, 3>& pose,
         const std::vector<std::array<py::array, 2>>& styles, const py::array& places, const py::tuple& post,
         const py::array& out) {
        const HairStrands hair = hair_strands(strands);
        const Index n = static_cast<Index>(hair.lengths.size());
        require(!styles.empty(), "there must be a style");
        const auto nodes = positions_of(pose[0], "nodes");
        const auto tets = elements_of<4>(pose[1], "tets");
        const auto skin_points = positions_of(pose[2], "skin");
        const HairPose at{nodes, tets, skin_points};
        const Index given = places.size();
        const std::span<const float> where{data_of<float>(places, "places", given), static_cast<std::size_t>(given)};
        require(given == 0 || given == n, "there must be a place per point");
        const HairPost how =
            post_of(post[0].cast<int>(), post[1].cast<int>(), post[2].cast<double>(), post[3].cast<double>(), post[4]);
        const auto to = points_to(out, "out", n);
        if (py::isinstance<py::array_t<float>>(styles[0][1]))
          skin<float>(hair, at, styles, where, how, to);
        else
          skin<double>(hair, at, styles, where, how, to);
      },
      py::arg("strands"), py::arg("pose"), py::arg("styles"), py::arg("places"), py::arg("post"), py::arg("out"));
  m.def(
      "finish_hair",
      [](const std::array<py::array, 4>& strands, const py::tuple& post, const py::array& points) {
        const HairStrands hair = hair_strands(strands);
        const HairPost how =
            post_of(post[0].cast<int>(), post[1].cast<int>(), post[2].cast<double>(), post[3].cast<double>(), post[4]);
        const auto x = points_to(points, "points", static_cast<Index>(hair.lengths.size()));
        interruptible([&] { finish_hair(hair, how, x); });
      },
      py::arg("strands"), py::arg("post"), py::arg("points"));
}

}  // namespace meniscus::bindings
