/// Questions about places anywhere in the domain, which the blocks answer that have the places.
#pragma once

#include "meniscus/grid/blocks/block_map.hpp"
#include "meniscus/parallel/parcels.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <cstring>
#include <type_traits>

namespace meniscus::grid {

/// Collective: answers[i] is the answer to questions[i], of the block that has cell_of(question). `answer(questions, n, answers)`
/// is called once on every block, with n = 0 too, and may be collective itself. Where the grid is not cut, or all places of all
/// blocks are their own, the given arrays are passed on.
template <int D, class Question, class Answer, class CellOf, class Body>
void ask_owners(const Grid<D>& grid, const Question* questions, Index n, Answer* answers, CellOf&& cell_of, Body&& answer) {
  static_assert(std::is_trivially_copyable_v<Question> && std::is_trivially_copyable_v<Answer>);
  bool far = false;
  if (grid.block().cut()) {
    for (Index i = 0; i < n && !far; ++i) far = !in_block<D>(grid, cell_of(questions[i]));
    far = parallel::global_any(*grid.communicator(), far);
  }
  if (!far) {
    answer(questions, n, answers);
    return;
  }
  parallel::Communicator& communicator = *grid.communicator();
  const BlockMap<D> blocks(grid);
  std::vector<int> owner(static_cast<std::size_t>(n));
  parallel::Parcels asked;
  std::vector<Question> here;
  for (Index i = 0; i < n; ++i) {
    const int block = owner[static_cast<std::size_t>(i)] = blocks.block_of(cell_of(questions[i]));
    if (block == communicator.rank()) {
      here.push_back(questions[i]);
      continue;
    }
    std::vector<std::byte>& bytes = asked[block];
    bytes.resize(bytes.size() + sizeof(Question));
    std::memcpy(bytes.data() + bytes.size() - sizeof(Question), &questions[i], sizeof(Question));
  }
  const std::size_t own = here.size();
  const parallel::Parcels received = parallel::exchange_parcels(communicator, parallel::tags::particles, asked);
  for (const auto& [block, bytes] : received) {
    const std::size_t first = here.size();
    here.resize(first + bytes.size() / sizeof(Question));
    std::memcpy(here.data() + first, bytes.data(), bytes.size());
  }
  std::vector<Answer> found(here.size());
  answer(here.data(), static_cast<Index>(here.size()), found.data());

  // Both sides know how many answers come back.
  std::vector<parallel::Message> out, in;
  Answer* next = found.data() + own;
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
  std::map<int, std::size_t> used;
  std::size_t used_here = 0;
  for (Index i = 0; i < n; ++i) {
    const int block = owner[static_cast<std::size_t>(i)];
    answers[i] = block == communicator.rank() ? found[used_here++] : replies[block][used[block]++];
  }
}

}  // namespace meniscus::grid
