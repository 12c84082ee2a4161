/// The surface of what is wet in a square or cube of samples, some of whose edges a sheet cuts.
///
/// Water at a wet corner ends on every edge that leads to a dry one, or that is cut, so an edge has a crossing for each wet end
/// of it: two where a sheet keeps water apart from water. On a square, a run of wet corners without a cut between them is bounded
/// by the segment from the crossing after its last corner to that before its first. The choice depends on the square alone, so
/// cubes that share it agree; in a cube the segments of its six faces form loops. Without cuts these are the loops of
/// `cube_cases`.
#pragma once

#include "meniscus/surface/extraction/cut_cases.hpp"

#include <utility>
#include <vector>

namespace meniscus::coupling {

/// A crossing: an edge of a cube (as in `cube_edges`) or square (round it, from `square_round[edge]` to the next), and its wet
/// end.
struct WetCrossing {
  std::int8_t edge, corner;

  bool operator==(const WetCrossing&) const = default;
};

/// Segments of a square, water to the left. Bit q of `wet`: corner q; bit e of `cut`: edge e of the round.
void segments_of_square(unsigned wet, unsigned cut, std::vector<std::pair<WetCrossing, WetCrossing>>& out);

/// Triangles of a cube, normals out of the water, appended to `out`, and the segments of its faces, which bound them, to
/// `segments`. Bit e of `cut`: edge e of `cube_edges`. `values`: level set at the corners.
void triangles_of_cube(unsigned wet, unsigned cut, const std::array<double, 8>& values,
                       std::vector<std::array<WetCrossing, 3>>& out, std::vector<std::pair<WetCrossing, WetCrossing>>& segments);

}  // namespace meniscus::coupling
