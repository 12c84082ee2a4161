#include "bridge.hpp"

#include "meniscus/collision/continuous/cubic_ccd.hpp"
#include "meniscus/collision/continuous/space_time_simplex.hpp"
#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <optional>

namespace meniscus::bindings {
namespace {

/// Chunks of this many pairs: these methods take a microsecond or more for one.
constexpr Index chunk = 128;

/// The positions of n groups of points at both ends of a step: arrays (n, points, dimension).
struct Motion {
  const double* start;
  const double* end;
  Index count;
  Index points;
  Index dimension;

  Motion(const py::array& start_array, const py::array& end_array, Index points_each, Index space)
      : start(first_of(start_array, "start", points_each, space)),
        end(first_of(end_array, "end", points_each, space)),
        count(start_array.shape(0)),
        points(points_each),
        dimension(space) {
    require(end_array.shape(0) == count, "start and end must hold as many pairs as each other, not ", count, " and ",
            end_array.shape(0));
  }

  void require_finite() const {
    for (const auto& [x, name] : {std::pair{start, "start"}, std::pair{end, "end"}})
      for (Index i = 0; i < count * points * dimension; ++i)
        require(std::isfinite(x[i]), name, " must be finite, but [", i / (points * dimension), ", ", i / dimension % points, ", ",
                i % dimension, "] is ", x[i]);
  }

  std::span<const mesh::Point, 4> four(const double* x, Index i) const {
    return std::span<const mesh::Point, 4>(reinterpret_cast<const mesh::Point*>(x) + 4 * i, 4);
  }
  /// Three points of the plane.
  std::array<mesh::Point, 3> three(const double* x, Index i) const {
    std::array<mesh::Point, 3> p;
    for (Index k = 0; k < 3; ++k) p[static_cast<std::size_t>(k)] = mesh::Point(x[6 * i + 2 * k], x[6 * i + 2 * k + 1], 0);
    return p;
  }

 private:
  static const double* first_of(const py::array& a, const char* name, Index points_each, Index space) {
    const double* first = data_of<double>(a, name);
    require(a.ndim() == 3 && a.shape(1) == points_each && a.shape(2) == space, name, " must have shape (n, ", points_each, ", ",
            space, ")");
    return first;
  }
};

/// Rows of vertex numbers, or 0, 1, 2, ... for all.
template <std::size_t N>
class Rows {
 public:
  Rows(const std::optional<py::array>& indices, Index count) {
    if (!indices) return;
    first_ = data_of<std::int32_t>(*indices, "indices");
    require(indices->ndim() == 2 && indices->shape(0) == count && indices->shape(1) == static_cast<Index>(N),
            "indices must have shape (", count, ", ", N, ")");
  }
  std::array<std::int64_t, N> operator[](Index i) const {
    std::array<std::int64_t, N> row;
    for (std::size_t k = 0; k < N; ++k)
      row[k] = first_ ? first_[i * static_cast<Index>(N) + static_cast<Index>(k)] : static_cast<std::int64_t>(k);
    return row;
  }

 private:
  const std::int32_t* first_ = nullptr;
};

py::array_t<double> cubic_contacts(collision::PairKind kind, const py::array& start, const py::array& end, double tolerance) {
  const Motion motion(start, end, 4, 3);
  py::array_t<double> times(motion.count);
  double* const out = times.mutable_data();
  interruptible([&] {
    motion.require_finite();
    parallel_for(0, motion.count, chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i)
        out[i] = collision::cubic_contact(kind, motion.four(motion.start, i), motion.four(motion.end, i), tolerance);
    });
  });
  return times;
}

/// Times (n,), normals (n, dimension) and displacements (n,).
template <class Ask>
py::tuple space_time_arrays(const Motion& motion, Ask&& ask) {
  py::array_t<double> times(motion.count);
  py::array_t<double> normals({motion.count, motion.dimension});
  py::array_t<double> displacements(motion.count);
  double* const time = times.mutable_data();
  double* const normal = normals.mutable_data();
  double* const displacement = displacements.mutable_data();
  interruptible([&] {
    motion.require_finite();
    parallel_for(0, motion.count, chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        const collision::SpaceTimeContact found = ask(i);
        time[i] = found.time;
        for (Index d = 0; d < motion.dimension; ++d) normal[motion.dimension * i + d] = found.normal[d];
        displacement[i] = found.displacement;
      }
    });
  });
  return py::make_tuple(times, normals, displacements);
}

py::tuple space_time_contacts(collision::PairKind kind, const py::array& start, const py::array& end,
                              const std::optional<py::array>& indices, collision::SimplexMethod method) {
  const Motion motion(start, end, 4, 3);
  const Rows<4> rows(indices, motion.count);
  return space_time_arrays(motion, [&](Index i) {
    return collision::space_time_contact(kind, method, motion.four(motion.start, i), motion.four(motion.end, i), rows[i]);
  });
}

py::tuple point_segment_contacts(const py::array& start, const py::array& end, const std::optional<py::array>& indices,
                                 collision::SimplexMethod method) {
  const Motion motion(start, end, 3, 2);
  const Rows<3> rows(indices, motion.count);
  return space_time_arrays(motion, [&](Index i) {
    return collision::space_time_point_segment(method, motion.three(motion.start, i), motion.three(motion.end, i), rows[i]);
  });
}

}  // namespace

void bind_ccd_comparison(py::module_& m) {
  py::enum_<collision::SimplexMethod>(m, "SimplexMethod")
      .value("cramer", collision::SimplexMethod::cramer)
      .value("elimination", collision::SimplexMethod::elimination)
      .value("integer_elimination", collision::SimplexMethod::integer_elimination);
  m.def("cubic_contacts", &cubic_contacts, py::arg("kind"), py::arg("start"), py::arg("end"), py::arg("tolerance"));
  m.def("space_time_contacts", &space_time_contacts, py::arg("kind"), py::arg("start"), py::arg("end"), py::arg("indices"),
        py::arg("method"));
  m.def("space_time_point_segment", &point_segment_contacts, py::arg("start"), py::arg("end"), py::arg("indices"),
        py::arg("method"));
}

}  // namespace meniscus::bindings
