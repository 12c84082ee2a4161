/// Continuous velocity of a liquid on Voronoi cells, from the velocities of its faces.
///
/// Beside every site is a linear function, fitted to the faces of its cell and, with less weight, of its neighbours. Between the
/// four sites of a tetrahedron, whose barycentric coordinates are w, the velocity is
///
///     u(x) = sum_k w_k (u_k + G_k (x - x_k) / 2),
///
/// which is continuous, reproduces linear fields everywhere, and quadratic ones as well as the fits do: half of the gradient
/// makes the errors of interpolated values and of tangents cancel. What the fits lose of the velocities of faces is fitted once
/// more.
///
/// Liquid with air between does not feel each other: a site in the air has a velocity for each group of its neighbours in the
/// liquid that touch each other, and a query names an anchor, a site of the liquid, from which only what can be reached through
/// liquid counts. Farther out each connected part has a velocity of its own, extended layer by layer.
///
/// Sources: Brochu 2012, section 7.6 (fits; the printed ones reproduce constants only, and average them at sites; layers, after
/// Guendelman et al. 2005). Linear fits, halved gradients, second fits and anchors are ours.
#pragma once

#include "meniscus/fluids/voronoi/cell_projection.hpp"

#include <Eigen/Core>

namespace meniscus::fluids {

struct CellVelocityOptions {
  /// The length that fits are scaled by, m.
  double cell = 1;
  /// How often the fits' loss is fitted again; 0 smooths most.
  int corrections = 1;
  /// Layers of sites in the air that get a velocity.
  int layers = 6;
  /// Fits of constants, as printed.
  bool averages = false;
};

class CellVelocity {
 public:
  /// What is fitted must outlive the velocity.
  void fit(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, std::span<const FaceVelocity> velocity,
           const CellVelocityOptions& options);

  /// The site of the liquid at or close to a point, -1 if there is none. `tet` is where the search begins, and ends.
  std::int32_t anchor_at(const mesh::Point& p, std::int32_t& tet) const;
  /// The velocity of the liquid around an anchor; points outside of the box have that of the closest point of the box.
  mesh::Point at(const mesh::Point& p, std::int32_t anchor, std::int32_t& tet) const;
  /// The same for many, in parallel; without anchors, with those closest to the points.
  void at(std::span<const mesh::Point> points, std::span<const std::int32_t> anchors, std::span<mesh::Point> out) const;
  void anchor_at(std::span<const mesh::Point> points, std::span<std::int32_t> out) const;
  /// The velocity that carries a point of the surface: as `at`, but nothing goes through walls. What the fits have across a wet
  /// wall is taken away there, and less of it up to a cell from there; beyond a wall there is only motion along it.
  mesh::Point carried(const mesh::Point& p, std::int32_t anchor, std::int32_t& tet) const;
  void carried(std::span<const mesh::Point> points, std::span<const std::int32_t> anchors, std::span<mesh::Point> out) const;
  /// The velocity of a site, in its part or the first one near it; zero where none is known.
  mesh::Point at_site(std::int32_t site) const { return head_[site] < 0 ? mesh::Point(mesh::Point::Zero()) : u_[head_[site]]; }
  /// The greatest speed in the liquid, m/s.
  double greatest_speed() const;

  const mesh::VoronoiMesh& mesh() const { return *mesh_; }
  const LiquidCells& cells() const { return *cells_; }
  Index nbytes() const;

 private:
  /// Moments of the faces of a cell: sum of w n n^T (x) t t^T, with t = (1, (x - site) / cell), as six by ten numbers; and of
  /// w u n (x) t.
  struct Moments {
    Eigen::Matrix<double, 6, 10> matrix;
    Eigen::Matrix<double, 3, 4> right;
  };
  using Inverse = std::array<double, 78>;

  std::span<const std::int32_t> members(std::int32_t entry) const {
    return std::span(members_).subspan(member_start_[entry], member_start_[entry + 1] - member_start_[entry]);
  }
  bool has_member(std::int32_t entry, std::int32_t site) const;
  bool coupled(std::int32_t face, std::int32_t site) const;
  bool linked(std::int32_t a, std::int32_t b) const;
  std::int32_t walk(std::int32_t anchor, const mesh::Point& p) const;
  std::int32_t find(std::int32_t site, std::int32_t part) const;
  std::int32_t add(std::int32_t site, std::int32_t part);
  /// The entry across a face that shares liquid with another one; -1 where there is none.
  std::int32_t across(std::int32_t entry, std::int32_t face) const;
  std::int32_t near_anchor(std::int32_t site, std::int32_t anchor) const;
  void add_groups(std::int32_t site);
  void list_entries();
  void extend();
  template <class Value>
  void sum_right(Value&& value);
  void sum_moments();
  void invert();
  void solve(bool more);
  double at_face(Index face, std::size_t side) const;

  const mesh::VoronoiMesh* mesh_ = nullptr;
  const LiquidCells* cells_ = nullptr;
  CellVelocityOptions options_;
  /// Entries of a site follow each other by `next_`; those of the first layer come first.
  std::vector<std::int32_t> head_, next_, site_, part_;
  std::int32_t fitted_ = 0;
  /// Sites of the liquid whose faces count, of each fitted entry; and one site of each part.
  std::vector<std::int32_t> member_start_, members_, first_of_part_;
  std::vector<mesh::Point> u_;
  std::vector<Eigen::Matrix3d> gradient_;
  std::vector<Moments> moments_;
  std::vector<Inverse> inverse_;
};

}  // namespace meniscus::fluids
