#include "bridge.hpp"

#include "meniscus/collision/continuous/continuous_collision.hpp"
#include "meniscus/core/parallel.hpp"

#include <numeric>

namespace meniscus::bindings {
namespace {

constexpr Index chunk = 256;

/// The (n, 4, 3) positions of n pairs, four rows each.
std::span<const mesh::Point> quadruples_of(const py::array& a, const char* name) {
  const double* first = data_of<double>(a, name);
  require(a.ndim() == 3 && a.shape(1) == 4 && a.shape(2) == 3, name, " must have shape (n, 4, 3)");
  return {reinterpret_cast<const mesh::Point*>(first), static_cast<std::size_t>(4 * a.shape(0))};
}

/// Positions at both ends of the step, as many of one as of the other.
struct Step {
  std::span<const mesh::Point> start;
  std::span<const mesh::Point> end;

  Step(const py::array& start_array, const py::array& end_array)
      : start(quadruples_of(start_array, "start")), end(quadruples_of(end_array, "end")) {
    require(start.size() == end.size(), "start and end must hold the same number of pairs, not ", start.size() / 4, " and ",
            end.size() / 4);
  }
  Index pairs() const { return static_cast<Index>(start.size() / 4); }
  void require_finite_pairs() const {
    for (const auto& [points, name] : {std::pair{start, "start"}, std::pair{end, "end"}})
      for (std::size_t i = 0; i < points.size(); ++i)
        require(points[i].allFinite(), name, " must be finite, but pair ", i / 4, " has ", points[i].transpose(), " as point ",
                i % 4);
  }
};

/// Calls body(start, end, pairs, number of the first) for blocks of pairs, in parallel.
template <class Body>
void for_each_block(const Step& step, Body&& body) {
  static const auto stencils = [] {
    std::array<collision::Stencil, chunk> s;
    for (std::size_t i = 0; i < s.size(); ++i) std::iota(s[i].begin(), s[i].end(), static_cast<std::int32_t>(4 * i));
    return s;
  }();
  parallel_for(0, step.pairs(), chunk, [&](Index b, Index e) {
    const auto first = static_cast<std::size_t>(4 * b);
    const auto count = static_cast<std::size_t>(e - b);
    body(step.start.subspan(first, 4 * count), step.end.subspan(first, 4 * count), std::span(stencils).first(count), b);
  });
}

py::array_t<bool> contacts(collision::PairKind kind, const py::array& start, const py::array& end, collision::ContactMode mode) {
  const Step step(start, end);
  py::array_t<bool> result(step.pairs());
  auto* const out = reinterpret_cast<std::uint8_t*>(result.mutable_data());
  interruptible([&] {
    step.require_finite_pairs();
    for_each_block(
        step, [&](std::span<const mesh::Point> from, std::span<const mesh::Point> to, std::span<const collision::Stencil> pairs,
                  Index first) { collision::find_contacts(kind, mode, from, to, pairs, out + first); });
  });
  return result;
}

py::array_t<double> times_of_impact(collision::PairKind kind, const py::array& start, const py::array& end, double tolerance) {
  const Step step(start, end);
  py::array_t<double> result(step.pairs());
  double* const out = result.mutable_data();
  interruptible([&] {
    step.require_finite_pairs();
    for_each_block(
        step, [&](std::span<const mesh::Point> from, std::span<const mesh::Point> to, std::span<const collision::Stencil> pairs,
                  Index first) { collision::find_times_of_impact(kind, from, to, pairs, tolerance, 1, out + first); });
  });
  return result;
}

}  // namespace

void bind_continuous_collision(py::module_& m) {
  py::enum_<collision::ContactMode>(m, "ContactMode")
      .value("parity", collision::ContactMode::parity)
      .value("any", collision::ContactMode::any);
  py::enum_<collision::PairKind>(m, "PairKind")
      .value("vertex_face", collision::PairKind::vertex_face)
      .value("edge_edge", collision::PairKind::edge_edge);
  m.def("contacts", &contacts, py::arg("kind"), py::arg("start"), py::arg("end"), py::arg("mode"));
  m.def("times_of_impact", &times_of_impact, py::arg("kind"), py::arg("start"), py::arg("end"), py::arg("tolerance"));
}

}  // namespace meniscus::bindings
