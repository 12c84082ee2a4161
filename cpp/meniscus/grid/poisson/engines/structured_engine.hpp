/// Table of functions of a library that solves symmetric systems on boxes of cells, the only thing that the core knows of it.
///
/// A thin module fills it, compiled against the library and its MPI; the layout is plain C. Functions that return int return 0
/// for success, else an error number that `error_text` explains. All but the queries are collective.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct meniscus_structured_engine {
  /// `meniscus_structured_engine_version` of the header that the module was compiled with.
  int version;
  /// Name of the library: "hypre".
  const char* name;
  /// Binary interface of MPI that it was built for, as in meniscus_transport.
  const char* transport;

  /// Whether MPI has been initialised and not shut down.
  int (*running)(void);
  /// A system on the cells `first` to `last` (included) of a domain, counted along 2 or 3 axes, of which the first varies fastest
  /// in all arrays. `periods` are the cells of the domain along periodic axes, 0 along others. The ranks are those of an MPI
  /// communicator given by its handle; with `alone` there is only this one.
  int (*create)(std::intptr_t communicator, int alone, int axes, const int* first, const int* last, const int* periods,
                void** system);
  void (*release)(void* system);
  /// Per cell 1 + axes values: the diagonal, and the entries for the next lower cell along each axis. `singular`: constants over
  /// some cells are in the null space.
  int (*set_matrix)(void* system, const double* values, int singular);
  /// Solves from x = 0 to the norm of the residual relative to that of b, or as far as the iterations go.
  int (*solve)(void* system, const double* b, double* x, double tolerance, int max_iterations, int* iterations);
  void (*error_text)(int error, char* text, std::size_t size);
};

inline constexpr int meniscus_structured_engine_version = 1;

}  // extern "C"
