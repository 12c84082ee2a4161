/// Questions about places anywhere in the domain, which the blocks answer that have the places.
#pragma once

#include "meniscus/grid/blocks/block_map.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <cstring>
#include <memory>
#include <type_traits>

namespace meniscus::grid {
namespace detail {

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
    std::vector<std::byte>& bytes = asked[owner.back()];
    bytes.resize(bytes.size() + sizeof(Question));
    std::memcpy(bytes.data() + bytes.size() - sizeof(Question), &questions[i], sizeof(Question));
  }
  const parallel::Parcels received = parallel::exchange_parcels(communicator, parallel::tags::particles, asked);
  const std::size_t own = static_cast<std::size_t>(n) - far.size();
  std::size_t total = own;
  for (const auto& [block, bytes] : received) total += bytes.size() / sizeof(Question);
  const auto here = std::make_unique_for_overwrite<Question[]>(total);
  const auto found = std::make_unique_for_overwrite<Answer[]>(total);
  Question* next_question = here.get();
  detail::for_each_run_between(
      far, n, [&](Index first, Index last) { next_question = std::copy(questions + first, questions + last, next_question); });
  for (const auto& [block, bytes] : received) {
    std::memcpy(next_question, bytes.data(), bytes.size());
    next_question += bytes.size() / sizeof(Question);
  }
  answer(static_cast<const Question*>(here.get()), static_cast<Index>(total), found.get());

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
