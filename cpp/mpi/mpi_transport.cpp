// Table of message-passing functions over MPI. Compiled once for every binary interface, against its mpi.h; knows nothing of
// Python and of the rest of the library.
#include "meniscus/parallel/transport/transport_table.hpp"
#include "mpi_running.hpp"

#include <sched.h>
#include <climits>
#include <cstdio>
#include <cstring>

namespace {

// A handle is an int with MPICH and an address with Open MPI.
template <class To, class From>
To bits(From from) {
  static_assert(sizeof(From) <= sizeof(To) || sizeof(To) <= sizeof(From));
  To to{};
  std::memcpy(&to, &from, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
  return to;
}

/// MPI counts in int; longer messages are sent in units of so many bytes, filled up at the end by a second type.
constexpr std::size_t most_bytes = INT_MAX;

struct Channel {
  MPI_Comm communicator;
};

MPI_Comm of(void* channel) { return static_cast<Channel*>(channel)->communicator; }

int any_thread() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided >= MPI_THREAD_SERIALIZED;
}

int duplicate(std::intptr_t handle, void** channel) {
  MPI_Comm copy = MPI_COMM_NULL;
  const int error = MPI_Comm_dup(bits<MPI_Comm>(handle), &copy);
  if (error != MPI_SUCCESS) return error;
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  *channel = new Channel{copy};
  return 0;
}

void release(void* channel) {
  MPI_Comm_free(&static_cast<Channel*>(channel)->communicator);
  delete static_cast<Channel*>(channel);
}

int rank(void* channel) {
  int r = 0;
  MPI_Comm_rank(of(channel), &r);
  return r;
}

int size(void* channel) {
  int n = 1;
  MPI_Comm_size(of(channel), &n);
  return n;
}

/// Calls pass(count, type): of bytes, or of one large type for messages that are too long for an int.
template <class Pass>
int with_type(std::size_t bytes, Pass&& pass) {
  if (bytes <= most_bytes) return pass(static_cast<int>(bytes), MPI_BYTE);
  constexpr std::size_t unit = std::size_t{1} << 20;
  MPI_Datatype units = MPI_DATATYPE_NULL, rows = MPI_DATATYPE_NULL, whole = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(unit), MPI_BYTE, &units);
  MPI_Type_contiguous(static_cast<int>(bytes / unit), units, &rows);
  int lengths[2] = {1, static_cast<int>(bytes % unit)};
  MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes / unit * unit)};
  MPI_Datatype types[2] = {rows, MPI_BYTE};
  MPI_Type_create_struct(2, lengths, places, types, &whole);
  MPI_Type_commit(&whole);
  const int error = pass(1, whole);
  MPI_Type_free(&whole);
  MPI_Type_free(&rows);
  MPI_Type_free(&units);
  return error;
}

int send(void* channel, const void* data, std::size_t bytes, int to, int tag, std::intptr_t* request) {
  MPI_Request r = MPI_REQUEST_NULL;
  const int error =
      with_type(bytes, [&](int count, MPI_Datatype type) { return MPI_Isend(data, count, type, to, tag, of(channel), &r); });
  *request = bits<std::intptr_t>(r);
  return error;
}

int receive(void* channel, void* data, std::size_t bytes, int from, int tag, std::intptr_t* request) {
  MPI_Request r = MPI_REQUEST_NULL;
  const int error =
      with_type(bytes, [&](int count, MPI_Datatype type) { return MPI_Irecv(data, count, type, from, tag, of(channel), &r); });
  *request = bits<std::intptr_t>(r);
  return error;
}

std::size_t size_of(const MPI_Status& status) {
  MPI_Count count = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &count);
  return static_cast<std::size_t>(count);
}

int test(void*, std::intptr_t* request, int* done, std::size_t* bytes) {
  MPI_Request r = bits<MPI_Request>(*request);
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  const int error = MPI_Test(&r, done, &status);
  *request = bits<std::intptr_t>(r);
  if (error == MPI_SUCCESS && *done) *bytes = size_of(status);
  return error;
}

int cancel(void*, std::intptr_t* request, int* done) {
  MPI_Request r = bits<MPI_Request>(*request);
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  MPI_Cancel(&r);
  const int error = MPI_Wait(&r, &status);
  int cancelled = 0;
  MPI_Test_cancelled(&status, &cancelled);
  *done = !cancelled;
  *request = bits<std::intptr_t>(r);
  return error;
}

int probe(void* channel, int* found, int* from, int* tag, std::size_t* bytes) {
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  const int error = MPI_Iprobe(*from < 0 ? MPI_ANY_SOURCE : *from, *tag < 0 ? MPI_ANY_TAG : *tag, of(channel), found, &status);
  if (error != MPI_SUCCESS || !*found) return error;
  *from = status.MPI_SOURCE;
  *tag = status.MPI_TAG;
  *bytes = size_of(status);
  return 0;
}

void rest(void*) { sched_yield(); }

std::intptr_t handle(void* channel) { return bits<std::intptr_t>(of(channel)); }

void abort_all(void* channel, int code) { MPI_Abort(of(channel), code); }

void error_text(int error, char* text, std::size_t size) {
  char whole[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, whole, &length);
  std::snprintf(text, size, "%s", whole);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const meniscus_transport* meniscus_mpi_transport() {
  static const meniscus_transport table{meniscus_transport_version,
                                        MENISCUS_MPI_NAME,
                                        meniscus::mpi_is_running,
                                        any_thread,
                                        duplicate,
                                        release,
                                        rank,
                                        size,
                                        send,
                                        receive,
                                        test,
                                        cancel,
                                        probe,
                                        rest,
                                        handle,
                                        abort_all,
                                        error_text};
  return &table;
}
