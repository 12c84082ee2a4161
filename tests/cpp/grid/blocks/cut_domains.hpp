// Domains cut into blocks, and test programs on them whose results must be bit-identical to those of a single block.
#pragma once

#include "meniscus/core/random.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/parallel/thread_blocks.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace meniscus::testing {

/// A domain and the blocks that it is cut into.
template <int D>
struct CutDomain {
  std::string name;
  std::array<std::vector<Index>, D> cells;
  std::array<bool, D> periodic{};

  Coord<D> shape() const {
    Coord<D> n{};
    for (std::size_t d = 0; d < D; ++d)
      for (const Index k : cells[d]) n[d] += k;
    return n;
  }
};

/// 2 x 1 and 1 x 3 blocks, or 2 x 2 x 2, of uneven size, with every choice of periodic axes.
template <int D>
std::vector<CutDomain<D>> cut_domains() {
  std::vector<CutDomain<D>> all;
  const auto add = [&](const std::string& name, const std::array<std::vector<Index>, D>& cells) {
    for (unsigned p = 0; p < 1u << D; ++p) {
      CutDomain<D> domain{name, cells, {}};
      for (std::size_t d = 0; d < D; ++d) {
        domain.periodic[d] = (p >> d & 1u) != 0;
        if (domain.periodic[d]) domain.name += ", periodic along " + std::to_string(d);
      }
      all.push_back(domain);
    }
  };
  if constexpr (D == 2) {
    add("2 x 1 blocks", {{{5, 8}, {21}}});
    add("1 x 3 blocks", {{{9}, {4, 19, 6}}});
  } else {
    add("2 x 2 x 2 blocks", {{{5, 4}, {4, 7}, {6, 5}}});
  }
  return all;
}

/// Walls that change nothing, on all sides.
template <int D>
std::array<grid::GhostRule, 2 * D> mirrors() {
  return {};
}

template <int D>
grid::Grid<D> whole_grid(const CutDomain<D>& domain) {
  return {parallel::whole_domain<D>(domain.shape(), domain.periodic), 0.37, Vec<double, D>::Constant(-1.3),
          parallel::single_block_communicator()};
}

/// Messages of a block, whose ghosts are poisoned before every exchange.
class PoisoningCommunicator final : public parallel::Communicator {
 public:
  explicit PoisoningCommunicator(std::shared_ptr<parallel::Communicator> communicator) : communicator_(std::move(communicator)) {}

  int rank() const override { return communicator_->rank(); }
  int size() const override { return communicator_->size(); }
  void exchange(std::span<const parallel::Message> outgoing, std::span<const parallel::Message> incoming) override {
    communicator_->exchange(outgoing, incoming);
  }
  void gather(const void* own, std::size_t bytes, void* all) override { communicator_->gather(own, bytes, all); }
  bool poisons_ghosts() const override { return true; }

 private:
  std::shared_ptr<parallel::Communicator> communicator_;
};

/// Calls program(grid) for every block, all at the same time.
template <int D, class Program>
void on_blocks(const CutDomain<D>& domain, Program&& program) {
  const auto blocks = parallel::cut_domain<D>(domain.shape(), domain.periodic, domain.cells);
  parallel::run_thread_blocks(static_cast<int>(blocks.size()), [&](const std::shared_ptr<parallel::Communicator>& communicator) {
    program(grid::Grid<D>(blocks[communicator->rank()], 0.37, Vec<double, D>::Constant(-1.3),
                          std::make_shared<PoisoningCommunicator>(communicator)));
  });
}

/// Calls visit(index in the block) for all samples of a block with `ghosts` layers around it.
template <int D, class Visit>
void for_each_sample(const Coord<D>& extents, Index ghosts, Visit&& visit) {
  Coord<D> n = extents;
  for (Index& v : n) v += 2 * ghosts;
  for (Index i = 0; i < product<D>(n); ++i) {
    Coord<D> c;
    Index rest = i;
    for (std::size_t d = D; d-- > 0; rest /= n[d]) c[d] = rest % n[d] - ghosts;
    visit(c);
  }
}

/// A number from -1 to 1 that belongs to a global sample. Around periodic axes, copies have the same number.
template <int D>
double number_of(const grid::FieldLayout<D>& layout, const Coord<D>& index, std::uint64_t seed) {
  Index id = 0;
  for (std::size_t d = 0; d < D; ++d) {
    const Index n = layout.grid.shape()[d];
    Index i = index[d] + layout.grid.first_cell()[d];
    if (layout.grid.periodic()[d]) i = (i % n + n) % n;
    id = id * 1000 + i;
  }
  return 2.0 * CounterRandom(seed, static_cast<std::uint64_t>(id), 0).uniform2(0)[0] - 1.0;
}

/// Values that must not remain after an exchange: NaN, or a number that is no mask and no label.
template <class T>
T poison() {
  if constexpr (std::numeric_limits<T>::has_quiet_NaN)
    return std::numeric_limits<T>::quiet_NaN();
  else
    return static_cast<T>(77);
}

/// Poisons the ghosts, and if asked for the copies of samples on shared sides, which operators may expect to be up to date.
template <class T, int D>
void poison_ghosts(grid::Field<T, D>& field, bool copies = false) {
  const auto view = field.view();
  for_each_sample<D>(view.extents, grid::ghost_width, [&](const Coord<D>& c) {
    bool own = true;
    for (int d = 0; d < D; ++d) {
      const auto a = static_cast<std::size_t>(d);
      own = own && c[a] >= (copies ? field.layout().halo.first_owned(d) : 0) && c[a] < view.extents[a];
    }
    if (!own) *view.at(c) = poison<T>();
  });
}
template <class T, int D>
void poison_ghosts(grid::MacField<T, D>& field) {
  for (int d = 0; d < D; ++d) poison_ghosts(field.component(d));
}

/// Sets the samples to scale * (a smooth function or noise of the global index), and poisons the ghosts.
template <class T, int D>
void fill_random(grid::Field<T, D>& field, std::uint64_t seed, double scale = 1.0) {
  const auto view = field.view();
  for_each_sample<D>(view.extents, 0,
                     [&](const Coord<D>& c) { *view.at(c) = static_cast<T>(scale * number_of<D>(field.layout(), c, seed)); });
  poison_ghosts(field);
}
template <class T, int D>
void fill_random(grid::MacField<T, D>& field, std::uint64_t seed, double scale = 1.0) {
  for (int d = 0; d < D; ++d) fill_random(field.component(d), seed + 100 * static_cast<std::uint64_t>(d), scale);
}

/// Scratch memory in which nothing is a number.
inline void poison_workspace(Workspace& workspace, Index bytes) {
  std::vector<Workspace::Lease<std::byte>> leases;
  for (int i = 0; i < 16; ++i) {
    leases.push_back(workspace.take<std::byte>(bytes));
    std::memset(leases.back().data(), 0xff, static_cast<std::size_t>(bytes));
  }
}

/// The samples of all blocks, put together. Every block puts its own, ghosts beyond the sides of the domain included.
template <class T, int D>
class WholeField {
 public:
  WholeField(const Coord<D>& shape, const grid::Stagger<D>& stagger) : padded_(stagger.extents(shape)) {
    for (Index& n : padded_) n += 2 * grid::ghost_width;
    values_.resize(static_cast<std::size_t>(product<D>(padded_)));
  }

  /// With ghosts, all copies have to agree with what another block has put.
  void put(const grid::Field<T, D>& field, bool ghosts = false) {
    const auto view = field.view();
    for_each_sample<D>(view.extents, ghosts ? grid::ghost_width : 0, [&](const Coord<D>& c) {
      bool own = true;
      Index at = 0;
      for (int d = 0; d < D; ++d) {
        const auto a = static_cast<std::size_t>(d);
        const Index low = field.grid().shared(d, 0) ? field.layout().halo.first_owned(d) : -grid::ghost_width;
        const Index high = view.extents[a] + (field.grid().shared(d, 1) ? 0 : grid::ghost_width);
        own = own && c[a] >= low && c[a] < high;
        at = at * padded_[a] + c[a] + field.grid().first_cell()[a] + grid::ghost_width;
      }
      if (own) values_[at] = *view.at(c);
    });
  }

  /// Samples whose bits differ; NaN always counts.
  int differences(const WholeField& other) const {
    int n = 0;
    for (std::size_t i = 0; i < values_.size(); ++i)
      n += !(values_[i] == values_[i]) || std::memcmp(&values_[i], &other.values_[i], sizeof(T)) != 0;
    return n;
  }

 private:
  Coord<D> padded_;
  std::vector<T> values_;
};

template <class T, int D>
using WholeFields = std::vector<WholeField<T, D>>;

/// Runs program(grid, result) on the whole domain and on its blocks, and expects the same bits. `result` takes fields of the
/// given places, in this order.
template <class T, int D, class Program>
void check_same_bits(const CutDomain<D>& domain, const std::vector<grid::Stagger<D>>& places, Program&& program) {
  CAPTURE(domain.name);
  WholeFields<T, D> expected, found;
  for (const auto& place : places) {
    expected.emplace_back(domain.shape(), place);
    found.emplace_back(domain.shape(), place);
  }
  program(whole_grid(domain), expected);
  on_blocks(domain, [&](const grid::Grid<D>& grid) { program(grid, found); });
  for (std::size_t i = 0; i < places.size(); ++i) CHECK(expected[i].differences(found[i]) == 0);
}

}  // namespace meniscus::testing
