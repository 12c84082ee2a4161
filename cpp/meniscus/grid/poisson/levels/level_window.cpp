#include "meniscus/grid/poisson/levels/level_window.hpp"

namespace meniscus::grid {
namespace {

Index half_up(Index i) { return (i + 1) >> 1; }
Index half_down(Index i) { return i >> 1; }

/// Makes a range of cells longer, up to whole blocks of a row as far as the domain goes: memory has room for them, and a row that
/// is of one kind to its end takes one loop. The first cell remains an even one.
void fill_blocks(Index& begin, Index& end, Index domain) {
  const Index missing = (cell_block - (end - begin) % cell_block) % cell_block;
  const Index above = std::min(missing, domain - end);
  end += above;
  begin -= std::min((missing - above) / 2 * 2, begin);
}

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
  const parallel::IndexBox<D> corrected = finer.around(corrected_margin);
  interpolated_ = coarse_;
  for (std::size_t d = 0; d < D; ++d) {
    if (finer.whole_[d]) continue;
    interpolated_.begin[d] = half_down(corrected.begin[d]);
    interpolated_.end[d] = half_up(corrected.end[d]);
  }
  // Interpolation looks at the next coarse cells.
  spread_ = interpolated_;
  for (std::size_t d = 0; d < D; ++d) {
    --spread_.begin[d];
    ++spread_.end[d];
  }
  spread_ = spread_.intersection(coarse_);
  if (!replicated_) up_.emplace(communicator, own_, spread_, periods(), true);
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
    whole_[d] = replicated_ || !cut_[d] || (periodic_[d] && (n % 2 != 0 || end - begin >= n));
    if (!periodic_[d]) {
      begin = std::max<Index>(begin, 0);
      end = std::min(end, n);
    }
    window_.begin[d] = whole_[d] ? 0 : begin;
    window_.end[d] = whole_[d] ? n : end;
    if (d + 1 == D && !whole_[d] && !periodic_[d]) fill_blocks(window_.begin[d], window_.end[d], n);
    block.domain[d] = block.shape[d] = window_.end[d] - window_.begin[d];
    block.first[d] = window_.begin[d];
    block.periodic[d] = whole_[d] && periodic_[d];
    if (block.periodic[d]) block.neighbour[2 * d] = block.neighbour[2 * d + 1] = block.number;
  }
  layout_ = CellLayout<D>(block, parallel::single_block_communicator());
  cells_.emplace(communicator, own_, window_, periods(), true);
  right_hand_side_.emplace(communicator, own_, around(right_hand_side_margin), periods(), true);
  faces_.clear();
  faces_.reserve(D);
  for (int d = 0; d < D; ++d) {
    parallel::IndexBox<D> window = window_;
    ++window.end[d];
    faces_.emplace_back(communicator, own_faces(d), window, periods(), true);
  }
}

template <int D>
parallel::IndexBox<D> LevelWindow<D>::around(Index margin) const {
  parallel::IndexBox<D> box = own_;
  for (std::size_t d = 0; d < D; ++d) {
    box.begin[d] = whole_[d] ? window_.begin[d] : std::max(box.begin[d] - margin, window_.begin[d]);
    box.end[d] = whole_[d] ? window_.end[d] : std::min(box.end[d] + margin, window_.end[d]);
  }
  return box;
}

template <int D>
parallel::IndexBox<D> LevelWindow<D>::own_faces(int axis) const {
  const Index d = axis;
  parallel::IndexBox<D> faces = own_;
  if (!own_.empty() && !periodic_[d] && own_.end[d] == domain_[d]) ++faces.end[d];
  return faces;
}

template <int D>
void LevelWindow<D>::spread(const float* from, const CellLayout<D>& coarse, float* to) {
  if (!replicated_) {
    copy_box<D>(own_, layout_, window_.begin, from, coarse, coarse_.begin, to);
    const Coord<D> own = own_.from(coarse_.begin).begin, first = spread_.from(coarse_.begin).begin;
    up_->fetch(to + coarse.index(own), coarse.strides, to + coarse.index(first), coarse.strides);
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
