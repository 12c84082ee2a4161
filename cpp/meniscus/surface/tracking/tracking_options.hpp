/// Options and counts of a tracked surface.
///
/// Source: Brochu 2012, chapter 3 (the values of its examples are the defaults).
#pragma once

#include "meniscus/core/types.hpp"

#include <array>

namespace meniscus::surface {

/// Which gaps between parts of a surface close: those in what lies outside, such as between two drops; those inside, such as a
/// film that tears.
enum class MergeGaps : std::int8_t { none, outside, inside, both };

struct TrackingOptions {
  /// Lengths below are in units of this one, m; volumes in units of its cube.
  double edge_length = 0;
  double longest = 1.5;
  double shortest = 0.5;
  double volume_change = 0.1;
  /// Edges are this part of the radius of curvature where that is less than `edge_length`; 0: everywhere alike. Down to
  /// `finest` of `edge_length`.
  double curvature = 0;
  double finest = 0.25;
  /// Angles of triangles, radians: operations neither make smaller ones than `least_angle` nor larger ones than `largest_angle`
  /// where there were none before.
  double least_angle = 0.17;
  double largest_angle = 2.6;
  bool split = true, flip = true, collapse = true, smooth = true;
  /// Whether parts may merge and split.
  bool topology = true;
  /// Whether the surface never intersects itself. Otherwise nothing is tested.
  bool safety = true;
  MergeGaps merge = MergeGaps::both;
  double merge_distance = 0.05;
  /// Distance below which parts repel each other.
  double proximity = 0.005;
  /// Vertices of split edges on a smooth surface through their neighbours; else in the middle of the edge.
  bool butterfly = true;
  /// Collapsed edges leave the volume as it is, by the place of their vertex.
  bool keep_volume = true;
  /// Edges of the boundary stay as they are.
  bool frozen_boundary = false;
  /// Eigenvalues of the quadric of a vertex count where they exceed this part of the largest: one on a smooth surface, two on a
  /// ridge, three at a corner.
  double ridge = 0.03;
  int flip_sweeps = 5;
};

/// Why an operation was not done.
enum class Refusal : std::int8_t {
  none,          ///< it was done
  intersection,  ///< a new triangle meets another one
  enclosed,      ///< something lies in the space that it sweeps
  volume,        ///< it changes the volume too much
  normal,        ///< a triangle turns over
  shape,         ///< a triangle gets a bad angle, or an edge a bad length
  topology,      ///< the topology would change
  veto,          ///< an observer forbids it
};
constexpr std::size_t refusals = 8;

/// Operations that were tried, by how they ended.
struct OperationCounts {
  std::array<Index, refusals> ends{};
  Index done() const { return ends[0]; }
  void add(Refusal end) { ++ends[static_cast<int>(end)]; }
};

struct TrackingCounts {
  OperationCounts split, flip, collapse, merge;
  /// Vertices that sheets were parted at, and pairs of triangles back to back that went.
  Index pinches = 0, flaps = 0;
  /// Parts that had all but vanished, and went.
  Index residues = 0;
  /// Merges by another way than the first.
  Index second_ways = 0;
  int flip_sweeps = 0;
  /// Vertices that smoothing moved, and those of them that it moved less far than wanted.
  Index smoothed = 0, limited = 0;
};

}  // namespace meniscus::surface
