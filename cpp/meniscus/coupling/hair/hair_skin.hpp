/// Hair that a mesh of tetrahedra carries: every point hangs on one tetrahedron, then segments get their lengths back from root
/// to tip, and points inside of the creature are pushed out.
///
/// Source: Lee 2018, section 2.3.1 (embedding, equation 2.1; lengths; push-out) and 2.3.3 (blends of styles). Maps of depths:
/// Bridson, Marino and Fedkiw, "Simulation of clothing with folds and wrinkles", 2003, section 6.2 (order of layers).
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/mesh/tet_mesh.hpp"

#include <array>
#include <span>

namespace meniscus::coupling {

/// What happens to segments of another length than at rest: nothing, longer ones are shortened, all get their length.
enum class HairLength : std::int8_t { free, shorten, keep };

/// Which points are pushed out: none; those inside, to distances in [0, thickness]; or those nearer than the thickness too, so
/// that the order of depths is kept.
enum class HairPushout : std::int8_t { none, inside, order };

struct HairPost {
  HairLength length = HairLength::shorten;
  HairPushout pushout = HairPushout::none;
  /// m: of the layer that pushed points fill, and the depth that goes to distance 0 (deeper points go there too).
  double thickness = 0;
  double depth = 0;
  /// Signed distance of the creature, at nodes.
  const grid::Field<double, 3>* distance = nullptr;
};

/// Points of hair in tetrahedra. W: float or double.
template <class W>
struct HairStyle {
  std::span<const std::int32_t> tets;
  /// Of the last three corners.
  std::span<const std::array<W, 3>> weights;
};

/// The strands, their roots on triangles (or none: roots hang on tetrahedra too), and lengths of segments, at their first points.
struct HairStrands {
  std::span<const std::int64_t> offsets;
  std::span<const std::array<std::int32_t, 3>> root_corners;
  std::span<const std::array<double, 3>> root_weights;
  std::span<const float> lengths;
};

/// Positions of the nodes of the tetrahedra and of the skin.
struct HairPose {
  std::span<const mesh::Point> nodes;
  std::span<const mesh::Tet> tets;
  std::span<const mesh::Point> skin;
};

/// Sets the points of all strands. With several styles each point has a place between them: k + a is a part a of the way from
/// style k to the next. Points depend on this frame alone; bits do not depend on the number of threads.
template <class W>
void skin_hair(const HairStrands& hair, const HairPose& pose, std::span<const HairStyle<W>> styles, std::span<const float> places,
               const HairPost& post, std::span<mesh::Point> out);

/// The same treatment of lengths and of points inside for given points.
void finish_hair(const HairStrands& hair, const HairPost& post, std::span<mesh::Point> points);

}  // namespace meniscus::coupling
