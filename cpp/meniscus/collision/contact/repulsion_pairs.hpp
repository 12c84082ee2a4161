/// Pairs of elements near each other, with the side on which they are: found in parallel, in a canonical order, and coloured.
///
/// The order of the vertices of a pair holds its orientation. The normal (x2 - x1) x (x3 - x1) of the face of a vertex-face pair
/// points to its vertex; (x1 - x0) x (x3 - x2) of an edge-edge pair points from the second edge to the first. (Selle 2008,
/// section 6.4, prints an exchange of the vertex with a corner; two corners are meant.)
///
/// Source: Selle 2008, section 6.4, Figure 6.4.
#pragma once

#include "meniscus/collision/broad_phase/broad_phase.hpp"
#include "meniscus/collision/contact/contact_nodes.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/numerics/graph/colouring.hpp"

namespace meniscus::collision {

struct RepulsionOptions;

/// Pairs of one kind, colour by colour, within a colour by ascending elements.
struct RepulsionPairs {
  std::vector<ElementPair> elements;
  /// Vertices in the order that holds the orientation, as places in `Repulsion::vertices`.
  std::vector<Stencil> places;
  /// m.
  std::vector<double> thickness;
  /// Coefficients.
  std::vector<double> friction;
  /// From the second edge to the first, of length 1. Empty for vertices and faces.
  std::vector<std::array<float, 3>> direction;
  /// The pairs of colour c are [colours[c], colours[c + 1]).
  std::vector<Index> colours{0};

  Index size() const { return static_cast<Index>(elements.size()); }
  Index nbytes() const;
  void clear();
  void resize(Index n, bool with_direction);
};

/// What pairs ask of each vertex.
struct RepulsionSurface {
  std::vector<mesh::Point> rest;
  std::vector<double> thickness;
  std::vector<double> friction;
  /// Number of the connected surface.
  std::vector<std::int32_t> component;
  /// Numbers of bodies that move in few coordinates, -1 for others; and whether the vertex yields. Empty without such bodies, or
  /// pairs within one of them are left out, and those without a vertex that yields.
  std::vector<std::int32_t> body;
  std::vector<std::uint8_t> yields;
  /// Of bodies: whether pairs with other surfaces than those of bodies are left out.
  std::vector<std::uint8_t> apart;

  Index nbytes() const;
};

/// Memory for finding pairs.
class PairFinder {
 public:
  /// Forgets what was found, and makes room for so many chunks of pairs of a kind.
  void begin(PairKind kind, Index chunks);
  /// Keeps those of a block of pairs that are near each other, or come near each other along the displacements `motion` (m, may
  /// be empty).
  void add(PairKind kind, const PairBlock& block, const RepulsionSurface& surface, const RepulsionOptions& options,
           std::span<const mesh::Point> positions, std::span<const mesh::Point> motion);
  /// The same of those pairs of a block that have a body, and are not left out.
  void add_with_bodies(PairKind kind, const PairBlock& block, const RepulsionSurface& surface, const RepulsionOptions& options,
                       std::span<const mesh::Point> positions, std::span<const mesh::Point> motion);
  /// Sorts, colours and stores the pairs of both kinds.
  void collect(const ContactNodes& nodes, std::span<const Index, 2> seconds, std::array<RepulsionPairs, 2>& out);

  /// Pairs of the last `collect` that are not near each other yet.
  Index approaching() const { return approaching_; }

  Index nbytes() const;

 private:
  struct Found {
    ElementPair elements;
    Stencil vertices;
    std::array<float, 3> direction;
    double thickness;
    double friction;
    bool approaching;
  };
  struct OfKind {
    Index chunks = 0;
    std::vector<std::vector<Found>> found;
    std::vector<Index> first;
    std::vector<Stencil> sorted;
    Workspace::Lease<Index> order;
    numerics::Colouring colouring;
    /// The pair of a number, counted chunk by chunk.
    const Found& at(Index i) const;
  };
  void sort(OfKind& own, Index seconds);
  static void store(OfKind& own, bool with_direction, RepulsionPairs& out);

  std::array<OfKind, 2> kinds_;
  Workspace workspace_;
  Index approaching_ = 0;
};

}  // namespace meniscus::collision
