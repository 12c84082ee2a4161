/// MPI without its C++ interface, and whether it may be called.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace meniscus {

/// Whether MPI was initialised and not shut down yet; 0 or 1, as tables of C functions have it.
inline int mpi_is_running() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  if (!begun) return 0;
  MPI_Finalized(&ended);
  return !ended;
}

}  // namespace meniscus
