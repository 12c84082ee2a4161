#include "meniscus/grid/mask_window.hpp"

#include "meniscus/core/parallel.hpp"

#include <limits>

namespace meniscus::grid {
namespace {

constexpr Index window_lanes = 64;
constexpr std::int32_t no_distance = std::numeric_limits<std::int32_t>::max() / 2;

/// One axis. Lines are independent; `width` neighbouring ones (contiguous in memory) are swept together. A line with a period is
/// entered with what the period before it holds.
void window_axis(const std::uint8_t* in, std::uint8_t* out, Index n, Index stride, Index width, Index low, Index high,
                 Index period) {
  std::array<std::int32_t, window_lanes> since;
  const auto below = static_cast<std::int32_t>(std::min<Index>(-low, no_distance - 1));
  const auto above = static_cast<std::int32_t>(std::min<Index>(high, no_distance - 1));
  const auto count = [&](Index q, Index l) {
    auto& s = since[l];
    s = in[q] ? (s < no_distance ? s + 1 : no_distance) : 0;
    return s;
  };
  since.fill(no_distance);
  for (Index i = 0; i < period; ++i)
    for (Index l = 0; l < width; ++l) count(i * stride + l, l);
  for (Index i = 0; i < n; ++i)
    for (Index l = 0; l < width; ++l) {
      const Index q = i * stride + l;
      out[q] = count(q, l) > below;
    }
  since.fill(no_distance);
  for (Index i = n - 1; i >= n - period; --i)
    for (Index l = 0; l < width; ++l) count(i * stride + l, l);
  for (Index i = n - 1; i >= 0; --i)
    for (Index l = 0; l < width; ++l) {
      const Index q = i * stride + l;
      out[q] = static_cast<std::uint8_t>(out[q] & (count(q, l) > above));
    }
}

}  // namespace

template <int D>
void windowed_and(const Coord<D>& extents, const std::uint8_t* mask, Index low, Index high, std::uint8_t* out,
                  std::uint8_t* scratch, const Coord<D>& period) {
  const Coord<D> strides = c_strides<D>(extents);
  const std::uint8_t* in = mask;
  // The last of the D sweeps has to end in `out`.
  std::uint8_t* to = D % 2 ? out : scratch;
  std::uint8_t* other = D % 2 ? scratch : out;
  for (int d = 0; d < D; ++d) {
    const Index stride = strides[d];
    const Index n = extents[d];
    const Index blocks = (stride + window_lanes - 1) / window_lanes;
    const Index outer = product<D>(extents) / (n * stride);
    parallel_for(0, outer * blocks, std::max<Index>(1, 16384 / (n * std::min(stride, window_lanes))), [&](Index b, Index e) {
      for (Index q = b; q < e; ++q) {
        const Index first = (q % blocks) * window_lanes;
        const Index start = (q / blocks) * n * stride + first;
        window_axis(in + start, to + start, n, stride, std::min(window_lanes, stride - first), low, high, period[d]);
      }
    });
    in = to;
    std::swap(to, other);
  }
}

template void windowed_and<2>(const Coord<2>&, const std::uint8_t*, Index, Index, std::uint8_t*, std::uint8_t*, const Coord<2>&);
template void windowed_and<3>(const Coord<3>&, const std::uint8_t*, Index, Index, std::uint8_t*, std::uint8_t*, const Coord<3>&);

}  // namespace meniscus::grid
