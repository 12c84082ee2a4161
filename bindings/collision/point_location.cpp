// Point location in tetrahedral meshes, and queries of spatial hashes.
#include "collision/triangle_arrays.hpp"

#include "meniscus/collision/broad_phase/hash_queries.hpp"
#include "meniscus/collision/point_location/subdivision_location.hpp"
#include "meniscus/collision/point_location/tet_location.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

std::span<const mesh::Box> boxes_of(const py::array& a, const char* name) {
  static_assert(sizeof(mesh::Box) == 6 * sizeof(double));
  const double* first = data_of<double>(a, name);
  require(a.ndim() == 3 && a.shape(1) == 2 && a.shape(2) == 3, name, " must have shape (n, 2, 3)");
  return {reinterpret_cast<const mesh::Box*>(first), static_cast<std::size_t>(a.shape(0))};
}

py::array_t<std::int32_t> pairs_array(std::span<const collision::IndexPair> pairs) {
  py::array_t<std::int32_t> a({static_cast<py::ssize_t>(pairs.size()), py::ssize_t{2}});
  std::copy_n(reinterpret_cast<const std::int32_t*>(pairs.data()), 2 * pairs.size(), a.mutable_data());
  return a;
}

/// Never changed once it is there; a move puts another in its place, so that other Python threads may go on with the one they
/// have.
struct LocatorHandle {
  std::shared_ptr<const collision::TetLocator> locator;
};

/// Calls locate(points, hints, tets, weights) with the arrays that it writes to: `tets` and `weights` of one row per point.
template <class Locate>
void locate_into(const py::array& points, const std::optional<py::array>& hints, const py::array& tets, const py::array& weights,
                 Locate&& locate) {
  const auto x = positions_of(points, "points");
  const auto h = indices_of(hints, "hints");
  require(!hints || h.size() == x.size(), "hints must have one value per point, ", x.size(), ", not ", h.size());
  const auto n = static_cast<Index>(x.size());
  const std::span<std::int32_t> tet(data_of<std::int32_t>(tets, "tets", n, true), x.size());
  static_assert(sizeof(collision::TetWeights) == 4 * sizeof(double));
  double* const first = data_of<double>(weights, "weights", 4 * n, true);
  const std::span<collision::TetWeights> weight(reinterpret_cast<collision::TetWeights*>(first), x.size());
  interruptible([&] { locate(x, std::span<const std::int32_t>(h), tet, weight); });
}

void bind_subdivision_locator(py::module_& m) {
  using collision::SubdivisionLocator;
  // Never changed once it is there: a move makes another one, which shares what no motion changes.
  py::class_<SubdivisionLocator>(m, "SubdivisionLocator")
      .def(py::init([](const mesh::UniformSubdivision<4>& subdivision, const py::array& vertices) {
             const auto x = positions_of(vertices, "vertices");
             return interruptible([&] { return std::make_unique<SubdivisionLocator>(subdivision, x); });
           }),
           py::arg("subdivision"), py::arg("vertices"))
      .def_property_readonly("nbytes", &SubdivisionLocator::nbytes)
      .def_property_readonly("shared_nbytes", &SubdivisionLocator::shared_nbytes)
      .def(
          "moved",
          [](const SubdivisionLocator& self, const py::array& vertices, const std::optional<py::array>& disabled) {
            const auto x = positions_of(vertices, "vertices");
            std::span<const bool> off;
            if (disabled) off = {data_of<bool>(*disabled, "disabled"), static_cast<std::size_t>(disabled->size())};
            return interruptible([&] { return self.moved(x, off); });
          },
          py::arg("vertices"), py::arg("disabled"))
      .def(
          "locate",
          [](const SubdivisionLocator& self, const py::array& points, const std::optional<py::array>& hints, Index level,
             const py::array& tets, const py::array& weights) {
            locate_into(points, hints, tets, weights, [&](auto x, auto h, auto t, auto w) { self.locate(x, h, level, t, w); });
          },
          py::arg("points"), py::arg("hints"), py::arg("level"), py::arg("tets"), py::arg("weights"));
}

void bind_tet_locator(py::module_& m) {
  py::class_<LocatorHandle>(m, "TetLocator")
      .def(
          py::init([](const py::array& vertices, const py::array& tets, const std::optional<py::array>& ranks, bool overlapping) {
            const auto x = positions_of(vertices, "vertices");
            const auto t = elements_of<4>(tets, "tets");
            const auto r = indices_of(ranks, "ranks");
            return interruptible([&] { return LocatorHandle{std::make_shared<collision::TetLocator>(x, t, r, overlapping)}; });
          }),
          py::arg("vertices"), py::arg("tets"), py::arg("ranks"), py::arg("overlapping"))
      .def(
          "move",
          [](LocatorHandle& self, const py::array& vertices) {
            const auto old = self.locator;
            const auto x = positions_of(vertices, "vertices");
            self.locator = interruptible([&] {
              auto moved = std::make_shared<collision::TetLocator>(*old);
              moved->move(x);
              return std::shared_ptr<const collision::TetLocator>(moved);
            });
          },
          py::arg("vertices"))
      .def(
          "locate",
          [](const LocatorHandle& self, const py::array& points, const std::optional<py::array>& hints) {
            const auto locator = self.locator;
            const py::array_t<std::int32_t> tets(points.shape(0));
            const py::array_t<double> weights({points.shape(0), py::ssize_t{4}});
            locate_into(points, hints, tets, weights, [&](auto x, auto h, auto t, auto w) {
              mesh::require_finite(x, "points");
              locator->locate(x, h, t, w);
            });
            return py::make_tuple(tets, weights);
          },
          py::arg("points"), py::arg("hints"));
}

}  // namespace

void bind_point_location(py::module_& m) {
  bind_tet_locator(m);
  bind_subdivision_locator(m);
  py::native_enum<collision::CellHash>(m, "CellHash", "enum.Enum")
      .value("corrected", collision::CellHash::corrected)
      .value("printed", collision::CellHash::printed)
      .value("teschner", collision::CellHash::teschner)
      .finalize();
  m.def(
      "cell_hashes",
      [](const py::array& cells, collision::CellHash hash) {
        const Index* first = data_of<Index>(cells, "cells");
        require(cells.ndim() == 2 && cells.shape(1) == 3, "cells must have shape (n, 3)");
        py::array_t<std::uint32_t> result(cells.shape(0));
        std::uint32_t* const out = result.mutable_data();
        const std::span<const Coord<3>> from(reinterpret_cast<const Coord<3>*>(first), static_cast<std::size_t>(cells.shape(0)));
        collision::hash_cells(from, hash, {out, from.size()});
        return result;
      },
      py::arg("cells"), py::arg("hash"));
  m.def(
      "vertices_in_tets",
      [](const py::array& vertices, const py::array& tets, const std::optional<py::array>& points, double cell_size,
         collision::CellHash hash) {
        const auto x = positions_of(vertices, "vertices");
        const auto t = elements_of<4>(tets, "tets");
        const auto p = indices_of(points, "points");
        collision::VertexTetPairs search;
        const auto pairs = interruptible([&] {
          mesh::require_finite(x, "vertices");
          collision::require_valid_tets(t, x.size());
          const std::span<const std::int32_t> chosen = p;
          return search.find(x, t, points ? &chosen : nullptr, cell_size, hash);
        });
        return pairs_array(pairs);
      },
      py::arg("vertices"), py::arg("tets"), py::arg("points"), py::arg("cell_size"), py::arg("hash"));
  m.def(
      "overlapping_boxes",
      [](const py::array& boxes, double cell_size, collision::CellHash hash) {
        const auto b = boxes_of(boxes, "boxes");
        collision::BoxPairs search;
        const auto pairs = interruptible([&] {
          collision::require_finite(b, "boxes");
          return search.find(b, cell_size, hash);
        });
        return pairs_array(pairs);
      },
      py::arg("boxes"), py::arg("cell_size"), py::arg("hash"));
  m.def(
      "points_of_bodies",
      [](const py::array& bodies, const py::array& points) {
        const auto b = boxes_of(bodies, "boxes");
        const auto x = positions_of(points, "points");
        collision::BodyPartition partition;
        interruptible([&] {
          collision::require_finite(b, "boxes");
          mesh::require_finite(x, "points");
          partition.build(b, x);
        });
        const auto starts = partition.starts();
        const auto found = partition.points();
        return py::make_tuple(py::array_t<Index>(static_cast<py::ssize_t>(starts.size()), starts.data()),
                              py::array_t<std::int32_t>(static_cast<py::ssize_t>(found.size()), found.data()));
      },
      py::arg("boxes"), py::arg("points"));
}

}  // namespace meniscus::bindings
