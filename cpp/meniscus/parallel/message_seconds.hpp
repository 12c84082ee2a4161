/// Seconds that a block spends on messages, apart from what it computes.
#pragma once

namespace meniscus::parallel {

/// Seconds since a communicator was made; what is left of the time of a program is computation.
struct MessageSeconds {
  /// Copying between arrays and messages.
  double pack = 0.0;
  /// In the transport: sending, and waiting for others.
  double wait = 0.0;
};

/// What is counted as seconds: those on the wall, or those that the own thread had a processor. The second one is for more ranks
/// than cores; it takes a call of the system, the first one does not.
enum class SecondsOf { wall, processor };

/// Seconds since some moment, by a clock that never goes back.
double seconds_now(SecondsOf clock);

/// Adds the seconds of its life to a total.
class Stopwatch {
 public:
  Stopwatch(double& total, SecondsOf clock) : total_(total), clock_(clock), start_(seconds_now(clock)) {}
  ~Stopwatch() { total_ += seconds_now(clock_) - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  SecondsOf clock_;
  double start_;
};

}  // namespace meniscus::parallel
