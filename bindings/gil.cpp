#include "gil.hpp"

#include <atomic>

namespace meniscus::bindings {
namespace {

/// How many calls without the GIL the thread is in that ends the interpreter.
std::atomic<int> depth_at_end{0};
std::atomic<bool> gone{false};

void wait_at_exit() {
  gone = true;
  // Longer than loops take from one poll to the next; one that does not poll shall not keep the process.
  core::wait_for_outside_threads(std::chrono::seconds(2));
}

}  // namespace

bool interpreter_ends() {
#if PY_VERSION_HEX >= 0x030D0000
  return gone || Py_IsFinalizing() != 0;
#else
  return gone || _Py_IsFinalizing() != 0;
#endif
}

void require_interpreter() {
  // The thread that ends the interpreter has the GIL when it collects garbage with functions that fields and shapes keep.
  const bool may_call = !interpreter_ends() || depth_at_end > 0 || (!gone && PyGILState_Check() != 0);
  if (!may_call) core::rest_for_ever();
}

// Whoever has the GIL while the interpreter ends is the thread that ends it.
WithoutGil::WithoutGil() : at_end_(interpreter_ends()), state_(PyEval_SaveThread()) {
  if (at_end_) ++depth_at_end;
}

WithoutGil::~WithoutGil() {
  if (must_stop()) core::rest_for_ever();
  call_python([&] { PyEval_RestoreThread(state_); });
  if (at_end_) --depth_at_end;
}

void wait_for_threads_at_exit() { Py_AtExit(&wait_at_exit); }

}  // namespace meniscus::bindings
