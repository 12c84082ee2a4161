#include "meniscus/core/parallel.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <memory>
#include <mutex>
#include <optional>
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

// TBB is not instrumented, so the thread sanitizer has to be told where a loop forks and joins. The build leaves this file, which
// holds the inlined parts of TBB, out of the instrumentation.
#if defined(MENISCUS_SANITIZE_THREAD)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#define MENISCUS_TSAN_ACQUIRE(p) __tsan_acquire(p)
#define MENISCUS_TSAN_RELEASE(p) __tsan_release(p)
#else
#define MENISCUS_TSAN_ACQUIRE(p) (void)(p)
#define MENISCUS_TSAN_RELEASE(p) (void)(p)
#endif

namespace meniscus::core {
namespace {

/// The one piece of process-wide state: how many threads to use, and the arena that holds them. One thread needs nothing of TBB.
struct Pool {
  int threads;
  std::optional<tbb::global_control> limit;
  std::optional<tbb::task_arena> arena;
  explicit Pool(int n) : threads(n) {
    if (n == 1) return;
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(n));
    arena.emplace(n);
  }
};

std::mutex pool_mutex;
std::shared_ptr<Pool> the_pool;
/// Whether a parent of this process had a pool.
bool forked = false;

std::shared_ptr<Pool> pool() {
  const std::lock_guard lock(pool_mutex);
  if (!the_pool) the_pool = std::make_shared<Pool>(forked ? 1 : tbb::info::default_concurrency());
  return the_pool;
}

#if defined(__unix__) || defined(__APPLE__)
/// A child has the arena and the locks of TBB as they were when it was forked, held by threads that it does not have: whoever
/// asks for one of them waits for ever. A child therefore computes on the threads that call, and does not touch TBB.
class ForkRules {
 public:
  ForkRules() {
    pthread_atfork([] { pool_mutex.lock(); }, [] { pool_mutex.unlock(); }, leave_pool);
  }

 private:
  static void leave_pool() {
    if (the_pool) {
      forked = true;
      // Kept for ever: its end would wait for the threads.
      static_cast<void>(new std::shared_ptr<Pool>(std::move(the_pool)));
      the_pool.reset();
    }
    pool_mutex.unlock();
  }
} const fork_rules;
#endif

/// The two edges of a loop: tasks see what happened before the fork, and who comes after the join sees what the tasks did, also
/// when one throws.
class ForkJoin {
 public:
  ForkJoin() { MENISCUS_TSAN_RELEASE(&fork_); }
  ~ForkJoin() { MENISCUS_TSAN_ACQUIRE(&join_); }
  ForkJoin(const ForkJoin&) = delete;
  ForkJoin& operator=(const ForkJoin&) = delete;

  class Task {
   public:
    explicit Task(ForkJoin& loop) : loop_(loop) { MENISCUS_TSAN_ACQUIRE(&loop_.fork_); }
    ~Task() { MENISCUS_TSAN_RELEASE(&loop_.join_); }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

   private:
    ForkJoin& loop_;
  };

 private:
  char fork_ = 0;
  char join_ = 0;
};

}  // namespace

void set_num_threads(int n) {
  require(n >= 1, "the number of threads must be at least 1, got ", n);
  const std::lock_guard lock(pool_mutex);
  if (forked) n = 1;
  if (the_pool && the_pool->threads == n) return;
  the_pool.reset();  // limits of several live pools would be combined to the smallest
  the_pool = std::make_shared<Pool>(n);
}

int num_threads() { return pool()->threads; }

namespace detail {

void run_chunks(Index chunks, ChunkBody body, void* context) {
  InterruptScope* scope = InterruptScope::current();
  const auto run = [&](Index c) {
    if (scope && scope->stopped()) return;
    body(context, c);
    if (scope) scope->poll();
  };
  const auto p = pool();
  if (chunks == 1 || p->threads == 1) {
    for (Index c = 0; c < chunks; ++c) run(c);
  } else {
    ForkJoin loop;
    p->arena->execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<Index>(0, chunks, 1),
          [&](const tbb::blocked_range<Index>& r) {
            const ForkJoin::Task task(loop);
            for (Index c = r.begin(); c != r.end(); ++c) run(c);
          },
          tbb::auto_partitioner());
    });
  }
  if (scope && scope->stopped()) throw Interrupted();
}

}  // namespace detail
}  // namespace meniscus::core
