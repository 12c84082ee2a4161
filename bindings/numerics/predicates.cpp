// Orientation predicates, and intersection and proximity of elements.
#include "collision/point_rows.hpp"

#include "meniscus/collision/proximity/proximity.hpp"
#include "meniscus/mesh/intersection/intersection.hpp"
#include "meniscus/numerics/predicates.hpp"

#include <tuple>

namespace meniscus::bindings {
namespace {

/// Evaluates a predicate of points in D dimensions.
template <int D, class Predicate, class... Arrays>
py::array_t<std::int8_t> signs(Predicate predicate, const Arrays&... points) {
  const char* name = "abcde";
  const auto check = [&](const py::array& p) { require_finite_values(p, std::string(1, *name++).c_str()); };
  (check(points), ...);
  const std::array rows{rows_of<Vec<double, D>>(points, "points")...};
  py::array_t<std::int8_t> result(static_cast<py::ssize_t>(rows[0].size()));
  std::int8_t* const out = result.mutable_data();
  interruptible([&] { std::apply([&](const auto&... x) { predicate(x..., out); }, rows); });
  return result;
}

/// Tests pairs of rows of two arrays.
template <class Out, class First, class Second, class Test>
py::array_t<Out> test_pairs(const py::array& first, const char* first_name, const py::array& second, const char* second_name,
                            Test test) {
  const auto a = rows_of<First>(first, first_name);
  const auto b = rows_of<Second>(second, second_name);
  require_finite_values(first, first_name);
  require_finite_values(second, second_name);
  py::array_t<Out> result(static_cast<py::ssize_t>(a.size()));
  Out* const out = result.mutable_data();
  interruptible([&] { test(a, b, out); });
  return result;
}

/// An uninitialised (n, Columns) array and its rows.
template <class Row>
struct Rows {
  static constexpr auto columns = static_cast<py::ssize_t>(sizeof(Row) / sizeof(double));
  explicit Rows(std::size_t n) : array({static_cast<py::ssize_t>(n), columns}) {}
  Row* data() { return reinterpret_cast<Row*>(array.mutable_data()); }
  py::array_t<double> array;
};

/// Closest points of pairs of rows of two arrays: distances, weights, first, second, normals.
template <class First, class Second, class Find>
py::tuple closest_pairs(const py::array& first, const char* first_name, const py::array& second, const char* second_name,
                        Find find) {
  const auto a = rows_of<First>(first, first_name);
  const auto b = rows_of<Second>(second, second_name);
  require_finite_values(first, first_name);
  require_finite_values(second, second_name);
  py::array_t<double> distance(static_cast<py::ssize_t>(a.size()));
  Rows<std::array<double, 4>> weights(a.size());
  Rows<mesh::Point> on_first(a.size());
  Rows<mesh::Point> on_second(a.size());
  Rows<mesh::Point> normal(a.size());
  const collision::ProximityArrays out{distance.mutable_data(), weights.data(), on_first.data(), on_second.data(), normal.data()};
  interruptible([&] { find(a, b, out); });
  return py::make_tuple(distance, weights.array, on_first.array, on_second.array, normal.array);
}

py::tuple contacts(collision::PairKind kind, const py::array& start, const py::array& end) {
  const auto a = rows_of<std::array<mesh::Point, 4>>(start, "start");
  const auto b = rows_of<std::array<mesh::Point, 4>>(end, "end");
  require_finite_values(start, "start");
  require_finite_values(end, "end");
  const auto n = static_cast<py::ssize_t>(a.size());
  Rows<std::array<double, 4>> weights(a.size());
  py::array_t<double> distance(n);
  Rows<mesh::Point> normal(a.size());
  py::array_t<double> displacement(n);
  py::array_t<std::int8_t> source(n);
  const collision::ContactArrays out{weights.data(), distance.mutable_data(), normal.data(), displacement.mutable_data(),
                                     source.mutable_data()};
  interruptible([&] { collision::contact_geometries(kind, a, b, out); });
  return py::make_tuple(weights.array, distance, normal.array, displacement, source);
}

}  // namespace

void bind_predicates(py::module_& numerics, py::module_& collision) {
  using A = const py::array&;
  numerics.def(
      "orient2d", [](A a, A b, A c) { return signs<2>([](auto... x) { numerics::orient2d(x...); }, a, b, c); }, py::arg("a"),
      py::arg("b"), py::arg("c"));
  numerics.def(
      "orient3d", [](A a, A b, A c, A d) { return signs<3>([](auto... x) { numerics::orient3d(x...); }, a, b, c, d); },
      py::arg("a"), py::arg("b"), py::arg("c"), py::arg("d"));
  numerics.def(
      "incircle", [](A a, A b, A c, A d) { return signs<2>([](auto... x) { numerics::incircle(x...); }, a, b, c, d); },
      py::arg("a"), py::arg("b"), py::arg("c"), py::arg("d"));
  numerics.def(
      "insphere", [](A a, A b, A c, A d, A e) { return signs<3>([](auto... x) { numerics::insphere(x...); }, a, b, c, d, e); },
      py::arg("a"), py::arg("b"), py::arg("c"), py::arg("d"), py::arg("e"));

  using Edge = std::array<mesh::Point, 2>;
  using Corners = std::array<mesh::Point, 3>;
  py::native_enum<mesh::DegenerateContact>(collision, "DegenerateContact", "enum.Enum")
      .value("counts", mesh::DegenerateContact::counts)
      .value("does_not_count", mesh::DegenerateContact::does_not_count)
      .finalize();
  collision.def(
      "edge_triangle",
      [](A edges, A triangles, mesh::DegenerateContact policy) {
        return test_pairs<bool, Edge, Corners>(edges, "edges", triangles, "triangles", [policy](auto e, auto t, bool* out) {
          mesh::edges_meet_triangles(e, t, policy, out);
        });
      },
      py::arg("edges"), py::arg("triangles"), py::arg("policy"));
  collision.def(
      "triangle_triangle",
      [](A first, A second, mesh::DegenerateContact policy) {
        return test_pairs<bool, Corners, Corners>(first, "first", second, "second", [policy](auto s, auto t, bool* out) {
          mesh::triangles_meet_triangles(s, t, policy, out);
        });
      },
      py::arg("first"), py::arg("second"), py::arg("policy"));
  collision.def(
      "point_in_tetrahedron",
      [](A points, A tetrahedra) {
        return test_pairs<std::int8_t, mesh::Point, std::array<mesh::Point, 4>>(
            points, "points", tetrahedra, "tetrahedra",
            [](auto p, auto t, std::int8_t* out) { mesh::points_in_tetrahedra(p, t, out); });
      },
      py::arg("points"), py::arg("tetrahedra"));

  collision.def(
      "point_triangle_distance",
      [](A points, A triangles) {
        return closest_pairs<mesh::Point, Corners>(points, "points", triangles, "triangles",
                                                   collision::point_triangle_proximities);
      },
      py::arg("points"), py::arg("triangles"));
  collision.def(
      "edge_edge_distance",
      [](A first, A second) {
        return closest_pairs<Edge, Edge>(first, "first", second, "second", collision::edge_edge_proximities);
      },
      py::arg("first"), py::arg("second"));
  collision.def(
      "vertex_face_contact", [](A start, A end) { return contacts(collision::PairKind::vertex_face, start, end); },
      py::arg("start"), py::arg("end"));
  collision.def(
      "edge_edge_contact", [](A start, A end) { return contacts(collision::PairKind::edge_edge, start, end); }, py::arg("start"),
      py::arg("end"));
}

}  // namespace meniscus::bindings
