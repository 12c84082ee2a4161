#include "meniscus/grid/particles/ghost_particles.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/cell_location.hpp"

#include <cstring>

namespace meniscus::grid {
namespace {

/// Particles as rows of bytes: all columns of one particle after each other.
class PackedRows {
 public:
  explicit PackedRows(const ParticleSet& particles) {
    for (const ParticleColumn& c : particles.columns()) row_bytes_ += static_cast<std::size_t>(c.row_bytes());
  }
  void add(const ParticleSet& particles, Index i) {
    for (const ParticleColumn& c : particles.columns()) {
      const std::byte* row = c.data.data() + i * c.row_bytes();
      bytes.insert(bytes.end(), row, row + c.row_bytes());
    }
  }
  Index count() const { return static_cast<Index>(bytes.size() / row_bytes_); }
  void resize(Index n) { bytes.resize(static_cast<std::size_t>(n) * row_bytes_); }
  void append_to(ParticleSet& particles) const {
    const Index first = particles.append(count());
    const std::byte* from = bytes.data();
    for (Index i = first; i < particles.size(); ++i)
      for (const ParticleColumn& column : particles.columns()) {
        ParticleColumn& c = particles.column(column.name);
        std::memcpy(c.data.data() + i * c.row_bytes(), from, static_cast<std::size_t>(c.row_bytes()));
        from += c.row_bytes();
      }
  }

  std::vector<std::byte> bytes;

 private:
  std::size_t row_bytes_ = 0;
};

template <int D>
Coord<D> cell_of(const Grid<D>& grid, const ParticleSet& particles, Index i) {
  const ParticleColumn& x = particles.positions();
  return x.type == ColumnType::float32 ? locate_in_domain(grid, reinterpret_cast<const float*>(x.data.data()) + i * D).cell
                                       : locate_in_domain(grid, reinterpret_cast<const double*>(x.data.data()) + i * D).cell;
}

}  // namespace

template <int D>
ParticleSet with_ghost_particles(const ParticleSet& own, const Grid<D>& grid, Workspace& workspace) {
  ParticleSet all(own.dimension(), own.positions().type);
  for (std::size_t c = 2; c < own.columns().size(); ++c)
    all.add_column(own.columns()[c].name, own.columns()[c].type, own.columns()[c].width);
  PackedRows rows(own);
  for (Index i = 0; i < own.size(); ++i) {
    const Coord<D> cell = cell_of(grid, own, i);
    for (std::size_t d = 0; d < D; ++d)
      require(cell[d] >= grid.first_cell()[d] && cell[d] < grid.first_cell()[d] + grid.local_shape()[d], "particle ", i,
              " lies outside of the block that has it");
    rows.add(own, i);
  }
  rows.append_to(all);
  // Axis by axis, so that what came across one side goes on across the next.
  for (int d = 0; d < D; ++d) {
    const auto a = static_cast<std::size_t>(d);
    if (!grid.block().cut(d)) continue;
    const Index lower = grid.first_cell()[a], upper = lower + grid.local_shape()[a];
    std::vector<PackedRows> sent(2, PackedRows(own)), received(2, PackedRows(own));
    for (Index i = 0; i < all.size(); ++i) {
      const Index c = cell_of(grid, all, i)[a];
      if (c == lower && lower > 0) sent[0].add(all, i);
      if (c == upper - 1 && upper < grid.shape()[a]) sent[1].add(all, i);
    }
    // First their numbers, then the particles. Messages up and down differ in their tag.
    std::array<Index, 2> sizes{sent[0].count(), sent[1].count()}, coming{};
    std::vector<parallel::Message> outgoing, incoming;
    const auto exchange = [&](auto&& out, auto&& in) {
      outgoing.clear();
      incoming.clear();
      for (const int side : {0, 1}) {
        if (side ? upper == grid.shape()[a] : lower == 0) continue;
        const auto s = static_cast<std::size_t>(side);
        const int neighbour = grid.block().neighbour[2 * a + s];
        outgoing.push_back({neighbour, 2 * d + side, out(s).first, out(s).second});
        incoming.push_back({neighbour, 2 * d + 1 - side, in(s).first, in(s).second});
      }
      grid.communicator()->exchange(outgoing, incoming);
    };
    const auto number = [](Index& n) { return std::pair(reinterpret_cast<std::byte*>(&n), sizeof n); };
    const auto content = [](PackedRows& r) { return std::pair(r.bytes.data(), r.bytes.size()); };
    exchange([&](std::size_t s) { return number(sizes[s]); }, [&](std::size_t s) { return number(coming[s]); });
    for (const std::size_t s : {0u, 1u}) received[s].resize(coming[s]);
    exchange([&](std::size_t s) { return content(sent[s]); }, [&](std::size_t s) { return content(received[s]); });
    for (const PackedRows& r : received) r.append_to(all);
  }
  all.sort_by_cell(grid, workspace);
  return all;
}

template ParticleSet with_ghost_particles<2>(const ParticleSet&, const Grid<2>&, Workspace&);
template ParticleSet with_ghost_particles<3>(const ParticleSet&, const Grid<3>&, Workspace&);

}  // namespace meniscus::grid
