#include "point_rows.hpp"

#include "meniscus/collision/intersection.hpp"
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

}  // namespace

void bind_predicates(py::module_& numerics, py::module_& collision) {
  using A = const py::array&;
  numerics.def(
      "orient2d", [](A a, A b, A c) { return signs<2>([](auto... x) { orient2d(x...); }, a, b, c); }, py::arg("a"), py::arg("b"),
      py::arg("c"));
  numerics.def(
      "orient3d", [](A a, A b, A c, A d) { return signs<3>([](auto... x) { orient3d(x...); }, a, b, c, d); }, py::arg("a"),
      py::arg("b"), py::arg("c"), py::arg("d"));
  numerics.def(
      "incircle", [](A a, A b, A c, A d) { return signs<2>([](auto... x) { incircle(x...); }, a, b, c, d); }, py::arg("a"),
      py::arg("b"), py::arg("c"), py::arg("d"));
  numerics.def(
      "insphere", [](A a, A b, A c, A d, A e) { return signs<3>([](auto... x) { insphere(x...); }, a, b, c, d, e); },
      py::arg("a"), py::arg("b"), py::arg("c"), py::arg("d"), py::arg("e"));

  using Edge = std::array<Point, 2>;
  using Corners = std::array<Point, 3>;
  py::enum_<DegenerateContact>(collision, "DegenerateContact")
      .value("counts", DegenerateContact::counts)
      .value("does_not_count", DegenerateContact::does_not_count);
  collision.def(
      "edge_triangle",
      [](A edges, A triangles, DegenerateContact policy) {
        return test_pairs<bool, Edge, Corners>(edges, "edges", triangles, "triangles",
                                               [policy](auto e, auto t, bool* out) { edges_meet_triangles(e, t, policy, out); });
      },
      py::arg("edges"), py::arg("triangles"), py::arg("policy"));
  collision.def(
      "triangle_triangle",
      [](A first, A second, DegenerateContact policy) {
        return test_pairs<bool, Corners, Corners>(first, "first", second, "second", [policy](auto s, auto t, bool* out) {
          triangles_meet_triangles(s, t, policy, out);
        });
      },
      py::arg("first"), py::arg("second"), py::arg("policy"));
  collision.def(
      "point_in_tetrahedron",
      [](A points, A tetrahedra) {
        return test_pairs<std::int8_t, Point, std::array<Point, 4>>(
            points, "points", tetrahedra, "tetrahedra",
            [](auto p, auto t, std::int8_t* out) { points_in_tetrahedra(p, t, out); });
      },
      py::arg("points"), py::arg("tetrahedra"));
}

}  // namespace meniscus::bindings
