/// Items for the blocks of their cells, anywhere in the domain: they are handed over, copied to the blocks that see them, or
/// questions that come back answered.
#pragma once

#include "meniscus/grid/blocks/block_map.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <cstring>
#include <memory>
#include <type_traits>

namespace meniscus::grid {
namespace detail {

template <class Item>
void append_item(std::vector<std::byte>& parcel, const Item& item) {
  static_assert(std::is_trivially_copyable_v<Item>);
  const auto* const first = reinterpret_cast<const std::byte*>(&item);
  parcel.insert(parcel.end(), first, first + sizeof(Item));
}

/// Adds the items that have come, in the order of the blocks.
template <class Item>
void append_items(std::vector<Item>& items, const parallel::Parcels& received) {
  for (const auto& [block, bytes] : received) {
    const std::size_t before = items.size();
    items.resize(before + bytes.size() / sizeof(Item));
    std::memcpy(items.data() + before, bytes.data(), bytes.size());
  }
}

/// Calls visit(first, last) for the runs of [0, n) between the indices of an ascending list.
template <class Visit>
void for_each_run_between(const std::vector<Index>& listed, Index n, Visit&& visit) {
  Index first = 0;
  for (const Index i : listed) {
    if (i > first) visit(first, i);
    first = i + 1;
  }
  if (n > first) visit(first, n);
}

}  // namespace detail

/// Collective where the grid is cut: hands items to the blocks that have cell_of(item), a cell of the domain. Those that stay
/// come first.
template <int D, class Item, class CellOf>
void hand_to_owners(const Grid<D>& grid, std::vector<Item>& items, CellOf&& cell_of) {
  if (!grid.block().cut()) return;
  const BlockMap<D> blocks(grid);
  parallel::Parcels sent;
  std::erase_if(items, [&](const Item& item) {
    const Coord<D> cell = cell_of(item);
    if (in_block<D>(grid, cell)) return false;
    detail::append_item(sent[blocks.block_of(cell)], item);
    return true;
  });
  detail::append_items(items, parallel::exchange_parcels(*grid.communicator(), parallel::tags::particles, sent));
}

/// Collective where the grid is cut: adds copies of the items of other blocks that lie up to `layers` cells beyond this one, also
/// around periodic axes. cell_of(item) is its cell in the domain, for own items one of the block.
template <int D, class Item, class CellOf>
void add_items_around(const Grid<D>& grid, Index layers, std::vector<Item>& items, CellOf&& cell_of) {
  if (!grid.block().cut()) return;
  const BlockMap<D> blocks(grid);
  const CellViewers<D> viewers(blocks, grid, layers, true);
  parallel::Parcels sent;
  for (const Item& item : items) {
    Coord<D> cell = cell_of(item);
    for (std::size_t d = 0; d < D; ++d) cell[d] -= grid.first_cell()[d];
    viewers.for_each(cell, [&](int block) { detail::append_item(sent[block], item); });
  }
  detail::append_items(items, parallel::exchange_parcels(*grid.communicator(), parallel::tags::particles, sent));
}

/// Collective, where any block has far questions: answers[i] is the answer to questions[i], of the block that has
/// cell_of(question) where i is in `far`, which ascends, and of this block for all others. `answer(questions, n, answers)` is
/// called once on every block, with n = 0 too, and may be collective itself.
template <int D, class Question, class Answer, class CellOf, class Body>
void ask_owners_of(const std::vector<Index>& far, const Grid<D>& grid, const Question* questions, Index n, Answer* answers,
                   CellOf&& cell_of, Body&& answer) {
  static_assert(std::is_trivially_copyable_v<Question> && std::is_trivially_copyable_v<Answer>);
  parallel::Communicator& communicator = *grid.communicator();
  const BlockMap<D> blocks(grid);
  std::vector<int> owner;
  parallel::Parcels asked;
  for (const Index i : far) {
    owner.push_back(blocks.block_of(cell_of(questions[i])));
    detail::append_item(asked[owner.back()], questions[i]);
  }
  const parallel::Parcels received = parallel::exchange_parcels(communicator, parallel::tags::particles, asked);
  const std::size_t own = static_cast<std::size_t>(n) - far.size();
  std::vector<Question> here;
  here.reserve(static_cast<std::size_t>(n));
  detail::for_each_run_between(far, n,
                               [&](Index first, Index last) { here.insert(here.end(), questions + first, questions + last); });
  detail::append_items(here, received);
  const auto found = std::make_unique_for_overwrite<Answer[]>(here.size());
  answer(static_cast<const Question*>(here.data()), static_cast<Index>(here.size()), found.get());

  // Both sides know how many answers come back.
  std::vector<parallel::Message> out, in;
  Answer* next = found.get() + own;
  for (const auto& [block, bytes] : received) {
    const std::size_t count = bytes.size() / sizeof(Question);
    out.push_back({block, parallel::tags::particles, reinterpret_cast<std::byte*>(next), count * sizeof(Answer)});
    next += count;
  }
  std::map<int, std::vector<Answer>> replies;
  for (const auto& [block, bytes] : asked) {
    std::vector<Answer>& reply = replies[block];
    reply.resize(bytes.size() / sizeof(Question));
    in.push_back({block, parallel::tags::particles, reinterpret_cast<std::byte*>(reply.data()), reply.size() * sizeof(Answer)});
  }
  if (!out.empty() || !in.empty()) communicator.exchange(out, in);
  const Answer* own_answer = found.get();
  detail::for_each_run_between(far, n, [&](Index first, Index last) {
    std::copy(own_answer, own_answer + (last - first), answers + first);
    own_answer += last - first;
  });
  std::map<int, std::size_t> used;
  for (std::size_t k = 0; k < far.size(); ++k) answers[far[k]] = replies[owner[k]][used[owner[k]]++];
}

/// Collective: the same for questions of which it is not known yet which are far. Where the grid is not cut, or all places of all
/// blocks are their own, the given arrays are passed on.
template <int D, class Question, class Answer, class CellOf, class Body>
void ask_owners(const Grid<D>& grid, const Question* questions, Index n, Answer* answers, CellOf&& cell_of, Body&& answer) {
  std::vector<Index> far;
  if (grid.block().cut()) {
    for (Index i = 0; i < n; ++i)
      if (!in_block<D>(grid, cell_of(questions[i]))) far.push_back(i);
    if (parallel::global_any(*grid.communicator(), !far.empty())) {
      ask_owners_of<D>(far, grid, questions, n, answers, cell_of, answer);
      return;
    }
  }
  answer(questions, n, answers);
}

}  // namespace meniscus::grid
