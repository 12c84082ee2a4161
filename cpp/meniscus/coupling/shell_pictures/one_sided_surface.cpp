#include "meniscus/coupling/shell_pictures/one_sided_surface.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/coupling/shell_pictures/wet_runs.hpp"
#include "meniscus/surface/markers/particle_list.hpp"
#include "meniscus/surface/redistancing/zero_crossings.hpp"

#include <cmath>
#include <limits>
#include <unordered_map>

namespace meniscus::coupling {
namespace {

/// Of the line of contact, in steps of the lattice: how far a vertex on a sheet goes to it, and how far it is looked for.
constexpr double contact_reach = 2.0, contact_look = 3.0;
/// Sine of the angle between an axis and the normal of the surface, below which the axis says nothing about the line of contact.
constexpr double least_slope = 0.2;

enum class Kind : std::uint8_t { free_surface, on_sheet, on_side, on_contact };

template <class T, int D>
class Extraction {
 public:
  using Point = Vec<double, D>;

  Extraction(const SheetLattice<T, D>& lattice, const ShellWalls<D>& walls) : lattice_(lattice), walls_(walls) {}

  OneSidedMesh<D> run() {
    march();
    find_vertices();
    find_contacts();
    find_normals();
    find_wetted();
    return std::move(mesh_);
  }

 private:
  /// The edge of a crossing: a wet sample, and the axis and direction in which the water ends.
  struct End {
    Index sample;
    int axis, direction;
  };

  std::int32_t vertex(Index sample, int axis, int direction) {
    const auto key = (static_cast<std::uint64_t>(sample) * D + static_cast<std::uint64_t>(axis)) * 2 + (direction > 0);
    const auto [place, is_new] = numbers_.try_emplace(key, static_cast<std::int32_t>(ends_.size()));
    if (is_new) ends_.push_back({sample, axis, direction});
    return place->second;
  }

  void march() {
    const Coord<D>&n = lattice_.extents(), &strides = lattice_.strides();
    std::array<Index, 1 << D> corner{};
    for (std::size_t q = 0; q < corner.size(); ++q)
      for (std::size_t d = 0; d < D; ++d) corner[q] += static_cast<Index>(q >> d & 1) * strides[d];
    Coord<D> c{};
    const Index count = product<D>(n);
    for (Index i = 0; i < count; ++i) {
      bool inner = true;
      for (std::size_t d = 0; d < D; ++d) inner &= c[d] + 1 < n[d];
      if (inner) {
        unsigned wet = 0;
        for (std::size_t q = 0; q < corner.size(); ++q) wet |= static_cast<unsigned>(lattice_.wet(i + corner[q])) << q;
        if (wet) cell(i, corner, wet);
      }
      for (int d = D - 1; d >= 0 && ++c[d] == n[d]; --d) c[d] = 0;
    }
  }

  void cell(Index i, const std::array<Index, 1 << D>& corner, unsigned wet) {
    unsigned cut = 0;
    segments_.clear();
    if constexpr (D == 2) {
      for (unsigned e = 0; e < 4; ++e) cut |= static_cast<unsigned>(lattice_.cut(i + corner[square_low(e)], square_axis(e))) << e;
      segments_of_square(wet, cut, segments_);
      const auto number = [&](const WetCrossing& x) {
        const auto e = static_cast<unsigned>(x.edge);
        const int axis = square_axis(e);
        return vertex(i + corner[x.corner], axis, x.corner >> axis & 1 ? -1 : 1);
      };
      for (const auto& [a, b] : segments_) {
        mesh_.elements.push_back({number(a), number(b)});
        if (cut) sides_.push_back(mesh_.elements.back());
      }
    } else {
      for (unsigned e = 0; e < 12; ++e) {
        const surface::CubeEdge& edge = surface::cube_edges[e];
        cut |= static_cast<unsigned>(lattice_.cut(i + corner[edge.corner], edge.axis)) << e;
      }
      if (wet == 255 && !cut) return;
      triangles_.clear();
      std::array<double, 8> values;
      for (std::size_t q = 0; q < 8; ++q) values[q] = lattice_.value(i + corner[q]);
      triangles_of_cube(wet, cut, values, triangles_, segments_);
      const auto number = [&](const WetCrossing& x) {
        const int axis = surface::cube_edges[x.edge].axis;
        return vertex(i + corner[x.corner], axis, x.corner >> axis & 1 ? -1 : 1);
      };
      for (const auto& t : triangles_) {
        mesh_.elements.push_back({number(t[0]), number(t[1]), number(t[2])});
        const std::array<std::int32_t, 3>& v = mesh_.elements.back();
        if (cut)
          for (std::size_t k = 0; k < 3; ++k) sides_.push_back({v[k], v[(k + 1) % 3]});
      }
    }
  }

  static std::size_t square_low(unsigned e) {
    return static_cast<std::size_t>(std::min(surface::square_round[e], surface::square_round[(e + 1) % 4]));
  }
  static int square_axis(unsigned e) { return (surface::square_round[e] ^ surface::square_round[(e + 1) % 4]) >> 1; }

  Point position(Index sample) const { return lattice_.position(surface::index_of<D>(sample, lattice_.strides())); }
  Index beyond(const End& e) const { return e.sample + e.direction * lattice_.strides()[e.axis]; }

  void find_vertices() {
    const std::size_t n = ends_.size();
    mesh_.vertices.resize(n);
    mesh_.normals.resize(n);
    mesh_.sample.resize(n);
    kinds_.resize(n);
    parallel_for(0, static_cast<Index>(n), 256, [&](Index begin, Index end) {
      for (Index v = begin; v < end; ++v) place(v);
    });
    mesh_.way = mesh_.sample;
  }

  void place(std::size_t v) {
    const End& e = ends_[v];
    const Index other = beyond(e);
    const Point x = position(e.sample), y = position(other);
    mesh_.sample[v] = x;
    kinds_[v] = x == y ? Kind::on_side : Kind::free_surface;
    const double here = lattice_.value(e.sample);
    double part = 1, there = lattice_.value(other);
    if (lattice_.cut(std::min(e.sample, other), e.axis)) {
      part = walls_.free_part(x, y);
      there = lattice_.level_at_sheet(e.sample, e.axis, e.direction, part, x + part * (y - x));
      if (!(there > 0)) {
        kinds_[v] = Kind::on_sheet;
        mesh_.vertices[v] = x + part * (y - x);
        return;
      }
    }
    // Measured from the lower end, as elsewhere.
    const double t = e.direction > 0 ? surface::crossing(here, there) : 1 - surface::crossing(there, here);
    mesh_.vertices[v] = x + part * t * (y - x);
  }

  /// Vertices on a sheet beside the free surface go along the sheet to the line in which both meet. Without this, a cell of the
  /// lattice would bevel the water there.
  void find_contacts() {
    std::vector<Point> target(ends_.size()), way(ends_.size());
    std::vector<double> distance(ends_.size(), contact_reach * lattice_.step());
    std::vector<std::int32_t> from(ends_.size(), -1);
    const auto look = [&](std::size_t on_sheet, std::int32_t free) {
      const Point p = mesh_.vertices[free];
      const Point g = lattice_.level(p).gradient;
      const double steep = g.squaredNorm();
      if (!(steep > 0)) return;
      const End& e = ends_[on_sheet];
      Point along = static_cast<double>(e.direction) * Point::Unit(e.axis);
      along -= (g.dot(along) / steep) * g;
      if (!(along.norm() > least_slope)) return;
      const Point far = p + contact_look * lattice_.step() * along.normalized();
      const double part = walls_.free_part(p, far);
      if (part >= 1) return;
      const Point x = p + part * (far - p);
      const double length = (x - mesh_.vertices[on_sheet]).norm();
      if (length > distance[on_sheet] || (length == distance[on_sheet] && from[on_sheet] <= free)) return;
      distance[on_sheet] = length;
      target[on_sheet] = x;
      from[on_sheet] = free;
    };
    for (const auto& [a, b] : sides_) {
      const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
      if (kinds_[i] == Kind::on_sheet && kinds_[j] == Kind::free_surface) look(i, b);
      if (kinds_[j] == Kind::on_sheet && kinds_[i] == Kind::free_surface) look(j, a);
    }
    for (std::size_t v = 0; v < ends_.size(); ++v) {
      if (from[v] < 0) continue;
      const Index p = from[v];
      mesh_.vertices[v] = target[v];
      mesh_.way[v] = mesh_.vertices[p];
      mesh_.sample[v] = mesh_.sample[p];
      kinds_[v] = Kind::on_contact;
    }
  }

  void find_normals() {
    parallel_for(0, static_cast<Index>(ends_.size()), 256, [&](Index begin, Index end) {
      for (Index v = begin; v < end; ++v) {
        const End& e = ends_[v];
        const Point outwards = static_cast<double>(e.direction) * Point::Unit(e.axis);
        Point n = outwards;
        if (kinds_[v] == Kind::on_sheet) n = -walls_.nearest_wall(position(e.sample), position(beyond(e))).normal;
        if (kinds_[v] == Kind::free_surface || kinds_[v] == Kind::on_contact) n = lattice_.level(mesh_.vertices[v]).gradient;
        mesh_.normals[v] = n.norm() > 0 ? Point(n.normalized()) : outwards;
      }
    });
  }

  void find_wetted() {
    for (const auto& element : mesh_.elements) {
      int on_sheet = 0, on_contact = 0;
      for (const std::int32_t v : element) {
        on_sheet += kinds_[v] == Kind::on_sheet;
        on_contact += kinds_[v] == Kind::on_contact;
      }
      mesh_.wetted.push_back(on_sheet > 0 && on_sheet + on_contact == D);
    }
  }

  const SheetLattice<T, D>& lattice_;
  const ShellWalls<D>& walls_;
  OneSidedMesh<D> mesh_;
  std::unordered_map<std::uint64_t, std::int32_t> numbers_;
  std::vector<End> ends_;
  std::vector<Kind> kinds_;
  /// Pairs of crossings that are neighbours in the mesh, in cells that a sheet cuts.
  std::vector<std::array<std::int32_t, 2>> sides_;
  std::vector<std::pair<WetCrossing, WetCrossing>> segments_;
  std::vector<std::array<WetCrossing, 3>> triangles_;
};

}  // namespace

template <class T, int D>
OneSidedMesh<D> one_sided_surface(grid::Field<T, D>& phi, const ShellWalls<D>& walls, Index refine, double time) {
  const SheetLattice<T, D> lattice(phi, walls, refine, time);
  return Extraction<T, D>(lattice, walls).run();
}

template OneSidedMesh<3> one_sided_surface<float, 3>(grid::Field<float, 3>&, const ShellWalls<3>&, Index, double);
template OneSidedMesh<2> one_sided_surface<double, 2>(grid::Field<double, 2>&, const ShellWalls<2>&, Index, double);
template OneSidedMesh<3> one_sided_surface<double, 3>(grid::Field<double, 3>&, const ShellWalls<3>&, Index, double);

}  // namespace meniscus::coupling
