/// Velocities at nodes, and the way back: means of the faces around a node, and of what nodes around a face have gained.
///
/// Source: Guendelman, Selle, Losasso and Fedkiw, "Coupling water and smoke to thin deformable and rigid shells", 2005,
/// section 4.2.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/transport/trace.hpp"
#include "meniscus/grid/walls/thin_walls.hpp"

namespace meniscus::grid {

/// All components of a velocity at the nodes of a grid, in scratch memory. Beyond the sides of the domain each continues like its
/// faces do.
template <class T, int D>
class NodeVelocity {
 public:
  NodeVelocity(const MacField<T, D>& faces, Workspace& workspace);

  const FieldLayout<D>& layout(int d) const { return layouts_[d]; }
  T* storage(int d) const { return storage_[d].data(); }
  FieldView<T, D> view(int d) const { return layout(d).view(storage(d)); }

  void fill_ghosts(double time);

 private:
  std::array<FieldLayout<D>, D> layouts_;
  std::array<Workspace::Lease<T>, D> storage_;
};

/// Each node takes, of each component, the mean of the 2 or 4 faces around it, whose ghosts are filled. Near walls only faces
/// count that it sees; where it sees none, the velocities of the walls between them do.
template <class T, int D>
void average_to_nodes(const VelocitySource<T, D>& faces, const ThinWalls<D>* walls, NodeVelocity<T, D>& nodes);

/// Writes component `axis` of the faces, with the mean of the increments of its 2 or 4 nodes added, to a padded block of its
/// layout. Near walls only nodes count that the face sees; where it sees none, it takes the velocity of the walls between them.
/// `active`: faces that change, contiguous, or nullptr.
template <class T, int D>
void add_increments(const MacField<T, D>& faces, int axis, const NodeVelocity<T, D>& increments, const std::uint8_t* active,
                    const ThinWalls<D>* walls, T* result);

/// Sets the nodes, contiguous, that have a face beside them across `axis` in a mask of such faces, also where an axis closes or
/// another block has it. Collective.
template <int D>
void nodes_beside(const Grid<D>& grid, int axis, const std::uint8_t* faces, std::uint8_t* nodes, Workspace& workspace);

}  // namespace meniscus::grid
