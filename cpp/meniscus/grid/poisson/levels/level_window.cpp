#include "meniscus/grid/poisson/levels/level_window.hpp"

namespace meniscus::grid {
namespace {

Index half_up(Index i) { return (i + 1) >> 1; }
Index half_down(Index i) { return i >> 1; }

}  // namespace

template <int D>
LevelWindow<D>::LevelWindow(const CellLayout<D>& fine, Index replicated)
    : domain_(fine.domain), periodic_(fine.periodic), most_replicated_(replicated) {
  for (std::size_t d = 0; d < D; ++d) {
    cut_[d] = fine.cells[d] != fine.domain[d];
    own_.begin[d] = fine.first[d];
    own_.end[d] = fine.first[d] + fine.cells[d];
  }
  plan(fine.halo.communicator());
}

template <int D>
LevelWindow<D>::LevelWindow(const LevelWindow& finer, parallel::Communicator& communicator)
    : domain_(finer.domain_),
      periodic_(finer.periodic_),
      cut_(finer.cut_),
      own_(finer.own_),
      coarse_(finer.window_),
      most_replicated_(finer.most_replicated_) {
  for (std::size_t d = 0; d < D; ++d) {
    if (domain_[d] == 1) continue;
    domain_[d] = half_up(domain_[d]);
    own_.begin[d] = half_up(own_.begin[d]);
    own_.end[d] = half_up(own_.end[d]);
    coarse_.begin[d] = half_down(coarse_.begin[d]);
    coarse_.end[d] = half_up(coarse_.end[d]);
  }
  plan(communicator);
  if (!replicated_) up_.emplace(communicator, own_, coarse_, periods(), true);
}

template <int D>
Coord<D> LevelWindow<D>::periods() const {
  Coord<D> p{};
  for (std::size_t d = 0; d < D; ++d) p[d] = periodic_[d] ? domain_[d] : 0;
  return p;
}

template <int D>
void LevelWindow<D>::plan(parallel::Communicator& communicator) {
  replicated_ = product<D>(domain_) <= most_replicated_;
  parallel::DomainBlock<D> block;
  block.neighbour.fill(parallel::DomainBlock<D>::none);
  for (std::size_t d = 0; d < D; ++d) {
    const Index n = domain_[d];
    // Coarse cells begin at even cells, and colours alternate in a window: around an odd period they do not.
    Index begin = own_.begin[d] - level_margin, end = own_.end[d] + level_margin;
    begin = 2 * half_down(begin);
    end = 2 * half_up(end);
    const bool whole = replicated_ || !cut_[d] || (periodic_[d] && (n % 2 != 0 || end - begin >= n));
    if (!periodic_[d]) {
      begin = std::max<Index>(begin, 0);
      end = std::min(end, n);
    }
    window_.begin[d] = whole ? 0 : begin;
    window_.end[d] = whole ? n : end;
    block.domain[d] = block.shape[d] = window_.end[d] - window_.begin[d];
    block.first[d] = window_.begin[d];
    block.periodic[d] = whole && periodic_[d];
    if (block.periodic[d]) block.neighbour[2 * d] = block.neighbour[2 * d + 1] = block.number;
  }
  layout_ = CellLayout<D>(block, parallel::single_block_communicator());
  cells_.emplace(communicator, own_, window_, periods(), true);
  faces_.clear();
  faces_.reserve(D);
  for (int d = 0; d < D; ++d) {
    parallel::IndexBox<D> window = window_;
    ++window.end[static_cast<std::size_t>(d)];
    faces_.emplace_back(communicator, own_faces(d), window, periods(), true);
  }
}

template <int D>
parallel::IndexBox<D> LevelWindow<D>::own_faces(int axis) const {
  const auto d = static_cast<std::size_t>(axis);
  parallel::IndexBox<D> faces = own_;
  if (!own_.empty() && !periodic_[d] && own_.end[d] == domain_[d]) ++faces.end[d];
  return faces;
}

template <int D>
void LevelWindow<D>::spread(const float* from, const CellLayout<D>& coarse, float* to) {
  if (!replicated_) {
    copy_box<D>(own_, layout_, window_.begin, from, coarse, coarse_.begin, to);
    Coord<D> own;
    for (std::size_t d = 0; d < D; ++d) own[d] = own_.begin[d] - coarse_.begin[d];
    up_->fetch(to + coarse.index(own), coarse.strides, to + coarse.origin, coarse.strides);
  } else {
    // Piece by piece between the ends of periodic axes.
    const Index length = coarse.cells[D - 1], n = domain_[D - 1];
    for (Index r = 0; r < coarse.rows(); ++r) {
      Coord<D> c = coarse.row_coordinate(r);
      for (std::size_t d = 0; d < D; ++d) c[d] = ((c[d] + coarse_.begin[d]) % domain_[d] + domain_[d]) % domain_[d];
      float* row = to + coarse.row(r);
      for (Index k = 0; k < length;) {
        const Index count = std::min(length - k, n - c[D - 1]);
        std::copy_n(from + layout_.index(c), count, row + k);
        k += count;
        c[D - 1] = 0;
      }
    }
  }
  coarse.halo.exchange(to);
}

template class LevelWindow<2>;
template class LevelWindow<3>;

}  // namespace meniscus::grid
