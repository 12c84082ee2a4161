/// Table of message-passing functions, the only thing that the core knows of a library such as MPI.
///
/// A thin module for each binary interface of MPI fills a table; ranks that are threads of one process fill another. The layout
/// is plain C, so that the module and the core may come from different compilers. Functions that return int return 0 for success,
/// else an error number that `error_text` explains. Communicators and requests are opaque.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct meniscus_transport {
  /// `meniscus_transport_version` of the header that the module was compiled with.
  int version;
  /// Name of the binary interface: "MPICH", "Open MPI", "threads".
  const char* name;

  /// Whether messages may be sent now: the library has been initialised and not shut down.
  int (*running)(void);
  /// Whether any thread may call, one at a time.
  int (*any_thread)(void);
  /// Collective: a communicator of its own over the ranks of one given by its handle (for MPI, the value or address that MPI's C
  /// interface uses).
  int (*duplicate)(std::intptr_t handle, void** communicator);
  void (*release)(void* communicator);
  int (*rank)(void* communicator);
  int (*size)(void* communicator);

  /// Begins to send. The data must stay until `test` says that the request is done.
  int (*send)(void* communicator, const void* data, std::size_t bytes, int to, int tag, std::intptr_t* request);
  int (*receive)(void* communicator, void* data, std::size_t bytes, int from, int tag, std::intptr_t* request);
  /// Sets `done`, and for a received message `bytes` to its size. A request that is done is gone.
  int (*test)(void* communicator, std::intptr_t* request, int* done, std::size_t* bytes);
  /// Takes back a request to receive. `done` is set if the message came nevertheless. The request is gone.
  int (*cancel)(void* communicator, std::intptr_t* request, int* done);
  /// Looks for a message that has arrived and that nobody has asked for: from `*from`, with `*tag`, -1 for any. Sets `found`, and
  /// then the sender, tag and size.
  int (*probe)(void* communicator, int* found, int* from, int* tag, std::size_t* bytes);
  /// Gives the processor to others for a moment, before the next test.
  void (*rest)(void* communicator);

  /// The handle of a communicator, for libraries that use the same message passing; null where there is none.
  std::intptr_t (*handle)(void* communicator);

  /// Ends all ranks.
  void (*abort)(void* communicator, int code);
  void (*error_text)(int error, char* text, std::size_t size);
};

inline constexpr int meniscus_transport_version = 2;

}  // extern "C"
