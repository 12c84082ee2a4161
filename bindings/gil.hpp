// The GIL taken and given up such that a thread survives the end of the interpreter.
//
// A daemon thread that asks for the GIL when the interpreter ends gets no answer: Python (before 3.14) ends the thread inside of
// the call, by unwinding its stack. That terminates the process where the stack has destructors or handlers, as every stack of
// C++ has. So no unwinding leaves a call to Python here: the thread sleeps instead, until the process is gone.
//
// Source: CPython documentation, "Initialization, finalization, and threads", cautions on PyEval_RestoreThread.
#pragma once

#include "meniscus/core/threads/outside_threads.hpp"

#include <pybind11/pybind11.h>

#include <type_traits>
#include <utility>

namespace meniscus::bindings {

/// Whether the interpreter is ending; then only the thread that ends it may run Python.
bool interpreter_ends();

#if defined(__GLIBCXX__)
using ThreadEnd = abi::__forced_unwind;
#else
/// Other libraries end threads without unwinding.
struct ThreadEnd {};
#endif

/// Calls f, with which the interpreter may end this thread.
template <class F>
auto call_python(F&& f) -> std::invoke_result_t<F&> {
  try {
    return f();
  } catch (const ThreadEnd&) {
    core::rest_for_ever();
  }
}

/// Gives up the GIL while alive.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  /// Whether the interpreter has begun to end since; then this thread shall stop.
  bool must_stop() const { return !at_end_ && interpreter_ends(); }

 private:
  core::OutsideThread counted_;
  bool at_end_;
  PyThreadState* state_;
};

/// Sleeps for ever unless there is an interpreter to call.
void require_interpreter();

/// Calls f with the GIL, from a thread that may have it or not.
template <class F>
auto with_gil(F&& f) -> std::invoke_result_t<F&> {
  require_interpreter();
  return call_python([&] {
    const pybind11::gil_scoped_acquire gil;
    // Inside of the scope, which cannot be left without the GIL.
    return call_python(f);
  });
}

/// To be called when the extension is loaded: the process ends only once no thread of Python computes any more, because it takes
/// away what they compute with.
void wait_for_threads_at_exit();

}  // namespace meniscus::bindings
