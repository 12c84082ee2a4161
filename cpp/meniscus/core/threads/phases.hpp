/// Many short loops one after the other, by one team of threads that meets between them without going to sleep: sweeps over
/// colours, whose loops take microseconds each, less than it takes to wake a thread up.
#pragma once

#include "meniscus/core/parallel.hpp"

#include <atomic>
#include <thread>

namespace meniscus::core {
namespace detail {

/// Who does which pieces of the phase that goes on. Each member of the team has a share of consecutive pieces, the same in
/// phases of equal length, so that its data stay in its cache; who has finished helps the others.
class PhaseTeam {
 public:
  static constexpr int most = 64;

  explicit PhaseTeam(int members) : members_(members) {}

  /// The phase that goes on; -1 after the last and where a member has failed.
  Index phase() const { return phase_.load(std::memory_order_acquire); }
  void stop() { phase_.store(-1, std::memory_order_release); }
  /// Begins a phase of so many pieces (more than none): by the one member that has ended the phase before.
  void begin(Index phase, Index pieces) {
    pieces_.store(pieces, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    for (int m = 0; m < members_; ++m) {
      Share& s = shares_[m];
      const Index end = pieces * (m + 1) / members_;
      s.end.store(end, std::memory_order_relaxed);
      s.left.store(ticket(phase, end - pieces * m / members_), std::memory_order_release);
    }
    phase_.store(phase, std::memory_order_release);
  }
  /// Does pieces of a phase until none is left to begin; returns whether these were the last to end. `member` is who asks.
  template <class Piece>
  bool work(Index phase, int member, Piece&& piece) {
    Index count = 0;
    for (int k = 0; k < members_; ++k) {
      Share& s = shares_[(member + k) % members_];
      for (Index p = s.take(phase); p >= 0; p = s.take(phase), ++count) piece(p);
    }
    if (count == 0) return false;
    // Before the pieces of this member count as done: afterwards, the next phase may begin.
    const Index pieces = pieces_.load(std::memory_order_relaxed);
    return done_.fetch_add(count, std::memory_order_acq_rel) + count == pieces;
  }
  /// Waits until another phase than this one goes on, and returns it.
  Index wait(Index phase) const {
    for (int spins = 0;; ++spins) {
      const Index now = this->phase();
      if (now != phase) return now;
#if defined(__x86_64__)
      if (spins < 200) {
        __builtin_ia32_pause();
        continue;
      }
#endif
      // More threads than cores: whoever has pieces to do needs this one.
      std::this_thread::yield();
    }
  }

 private:
  /// The phase above, how many pieces are left below. One word says both, so that a late member takes no piece of another phase,
  /// also while that one begins.
  static std::uint64_t ticket(Index phase, Index left) {
    return static_cast<std::uint64_t>(phase) << 32 | static_cast<std::uint64_t>(left);
  }
  struct alignas(64) Share {
    std::atomic<std::uint64_t> left{0};
    std::atomic<Index> end{0};
    /// The next piece, or -1.
    Index take(Index phase) {
      std::uint64_t now = left.load(std::memory_order_acquire);
      for (;;) {
        const auto n = static_cast<Index>(now & 0xffffffff);
        if (now >> 32 != static_cast<std::uint64_t>(phase) || n == 0) return -1;
        // The end is read once a piece is held: no other phase begins before that piece is done.
        if (left.compare_exchange_weak(now, now - 1, std::memory_order_acq_rel, std::memory_order_acquire))
          return end.load(std::memory_order_relaxed) - n;
      }
    }
  };

  std::array<Share, most> shares_;
  alignas(64) std::atomic<Index> phase_{-1};
  std::atomic<Index> pieces_{0};
  alignas(64) std::atomic<Index> done_{0};
  int members_;
};

}  // namespace detail

/// Loops `0 <= phase < phases` one after the other: body(phase, begin, end) for pieces of `chunk` elements of the range that
/// extent(phase) returns (first, end), in parallel within a phase. All pieces of a phase have ended before extent and body are
/// called for later ones, so that a phase may decide how long later ones are. Pieces do not depend on the number of threads.
/// Requests to stop are heard before and after all of it.
template <class Extent, class Body>
void parallel_phases(Index phases, Index chunk, Extent&& extent, Body&& body) {
  const int members = std::min(num_threads(), detail::PhaseTeam::most);
  if (members == 1) {
    for (Index phase = 0; phase < phases; ++phase) {
      const auto [first, end] = extent(phase);
      for (Index b = first; b < end; b += chunk) body(phase, b, std::min(b + chunk, end));
    }
    return;
  }
  detail::PhaseTeam team(members);
  std::pair<Index, Index> range;
  // Phases of one piece need nobody else: whoever begins them does them.
  const auto begin_after = [&](Index phase) {
    for (++phase; phase < phases; ++phase) {
      range = extent(phase);
      if (range.second <= range.first) continue;
      if (range.second - range.first > chunk) return team.begin(phase, (range.second - range.first + chunk - 1) / chunk);
      body(phase, range.first, range.second);
    }
    team.stop();
  };
  begin_after(-1);
  parallel_for(0, members, 1, [&](Index first, Index last) {
    try {
      for (Index member = first; member < last; ++member)
        for (Index phase = team.phase(); phase >= 0; phase = team.wait(phase)) {
          const bool last_piece = team.work(phase, static_cast<int>(member), [&](Index p) {
            const Index b = range.first + p * chunk;
            body(phase, b, std::min(b + chunk, range.second));
          });
          if (last_piece) begin_after(phase);
        }
    } catch (...) {
      team.stop();
      throw;
    }
  });
}

}  // namespace meniscus::core
