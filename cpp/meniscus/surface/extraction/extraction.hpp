/// Extraction of the surface of a level set as triangles (3-D) or segments (2-D): closed, oriented, manifold, second order.
///
/// Vertices lie where the linear interpolant along an edge of the samples is zero (or the cubic one), at least `crossing_margin`
/// of the edge away from its ends, so a sample that is exactly zero gives small triangles but no degenerate ones. Normals point
/// out of phi <= 0; segments have the inside to their left. Where the inside touches a side of the domain, the surface runs along
/// the side, or is left open there. The same holds at the two ends of a period, where the surfaces are congruent.
///
/// Blocks of a domain find the vertices and elements that begin at their own samples; then every block gets the whole mesh, which
/// is that of one block.
#pragma once

#include "meniscus/surface/extraction/mesh_welding.hpp"
#include "meniscus/surface/extraction/sign_bits.hpp"

#include <optional>

namespace meniscus::surface {

struct ExtractionOptions {
  bool close_sides = true;
  bool close_periods = false;
  bool cubic = false;  ///< crossings of the cubic through four samples, where there are four
};

/// Counts first, so that the caller can provide memory for exactly what `fill` writes. The field must not change in between.
template <class T, int D>
class SurfaceExtraction {
 public:
  /// Collective. Throws InvalidArgument for samples that are not finite and for more vertices or elements than 32 bits count.
  SurfaceExtraction(const grid::Field<T, D>& phi, const ExtractionOptions& options, Workspace& workspace);

  Index vertices() const { return vertices_; }
  Index elements() const { return elements_; }

  /// Writes positions (vertices, D), m, and elements (elements, D). `normals` (vertices, D) may be null; they are unit vectors
  /// along the gradient of phi, on the sides of the domain along those of the sides.
  void fill(double* positions, std::int32_t* elements, double* normals) const;

 private:
  struct Row {
    Index number = 0;
    Coord<D> at{};
    bool on_capped_side = false;
  };
  struct Counter;
  template <class Out>
  struct Writer;
  struct Numbers;
  struct Keys;

  Row row(Index number, const Coord<D>& at) const;
  Row neighbour(const Row& row, int d) const;
  /// Samples of word w that start an edge with a crossing along axis `group`; for group D, those with a vertex of the caps.
  std::uint64_t starts(const Row& row, Index w, int group) const;
  std::int32_t vertex(const Row& row, int group, Index k) const;
  Index count_vertices(const Row& row) const;
  void count();
  /// Whether the vertices and elements that begin in a row, and in which samples of it, are those of this block.
  bool owns(const Row& row) const;
  std::uint64_t own_starts(Index w) const;
  std::uint64_t own_cells(Index w) const;
  std::uint64_t row_key(const Row& row) const;
  std::uint64_t vertex_key(const Row& row, int group, Index k) const;
  void weld_blocks(parallel::Communicator& communicator);
  /// Calls the visitor for every cell of a row that contains elements.
  template <class Visitor>
  void visit(const Row& row, Visitor&& visitor) const;
  template <class Visitor>
  void visit_cubes(const Row& row, Visitor& visitor) const;
  template <class Visitor>
  void visit_squares(const Row& low, const Row& high, int u, int v, bool reversed, Visitor& visitor) const;
  /// Calls put(word, group, sample of the row, position, normal) for the vertices that begin in a row, in their order.
  template <class Put>
  void for_each_vertex(const Row& row, bool with_normals, Put&& put) const;
  double fraction(const Coord<D>& at, int axis) const;
  Vec<double, D> gradient(const Coord<D>& at) const;

  LevelSetLattice<T, D> lattice_;
  ExtractionOptions options_;
  SignBits<D> signs_;
  std::array<bool, D> capped_{};
  Index vertices_ = 0;
  Index elements_ = 0;
  Workspace::Lease<Index> row_start_;     // of vertices, then of elements
  Workspace::Lease<std::int32_t> first_;  // the first vertex of each word
  std::optional<WeldedMesh<D>> welded_;   // in a domain cut into blocks
};

}  // namespace meniscus::surface
