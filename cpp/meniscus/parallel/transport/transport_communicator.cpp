#include "meniscus/parallel/transport/transport_communicator.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"

#include <algorithm>
#include <cstring>

namespace meniscus::parallel {
namespace {

/// Tags of the control channel.
constexpr int note_tag = 1, status_tag = 2;
/// Tests of all requests before others get the processor, and between two looks at what else may have happened.
constexpr int tests_in_a_row = 8, tests_between_looks = 64;

}  // namespace

TransportCommunicator::TransportCommunicator(const meniscus_transport& table, std::intptr_t handle) : table_(table) {
  require(table.version == meniscus_transport_version, "the module for ", table.name, " was compiled for version ", table.version,
          " of the table of functions, this is version ", meniscus_transport_version);
  require(table.running() != 0, table.name, " is not running: it has not been initialised, or was shut down");
  require(table.any_thread() != 0, table.name,
          " was initialised for calls from one thread only; it must allow all, one at a time");
  check(table.duplicate(handle, &data_));
  check(table.duplicate(handle, &control_));
  rank_ = table.rank(data_);
  size_ = table.size(data_);
  const auto n = static_cast<std::size_t>(size_);
  sent_.resize(n);
  received_.resize(n);
  told_.resize(n);
}

TransportCommunicator::~TransportCommunicator() {
  for (void* channel : {data_, control_})
    if (channel && table_.running()) table_.release(channel);
}

void TransportCommunicator::check(int error) const {
  if (error == 0) return;
  char text[512] = "";
  table_.error_text(error, text, sizeof text);
  require(false, table_.name, " reports on rank ", rank_, ": ", static_cast<const char*>(text));
}

void TransportCommunicator::post(void* channel, std::span<const Message> outgoing, std::span<const Message> incoming,
                                 std::vector<Request>& requests) {
  for (const Message& m : incoming) {
    Request r{0, true, m.block, m.bytes};
    check(table_.receive(channel, m.data, m.bytes, m.block, m.tag, &r.handle));
    requests.push_back(r);
  }
  if (channel == data_ && !incoming.empty()) ++traffic_.rounds;
  for (const Message& m : outgoing) {
    Request r{0, false, m.block, m.bytes};
    check(table_.send(channel, m.data, m.bytes, m.block, m.tag, &r.handle));
    requests.push_back(r);
    if (channel != data_) continue;
    ++sent_[m.block];
    const Index tag = std::clamp(m.tag, 0, tags::count - 1);
    ++traffic_.messages[tag];
    traffic_.bytes[tag] += static_cast<Index>(m.bytes);
  }
}

/// Tests all requests once, and drops those that are done. Returns whether any is left.
bool TransportCommunicator::progress(void* channel, std::vector<Request>& requests) {
  std::size_t left = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request& r = requests[i];
    int done = 0;
    std::size_t bytes = r.bytes;
    check(table_.test(channel, &r.handle, &done, &bytes));
    if (!done) {
      requests[left++] = r;
      continue;
    }
    if (!r.receives) continue;
    if (channel == data_) ++received_[r.block];
    if (bytes != r.bytes) {
      // The rest of the list stays as it is.
      requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(left), requests.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      require(false, "rank ", rank_, " waits for ", r.bytes, " bytes from rank ", r.block, ", which has sent ", bytes,
              ": both must make the same calls with the same arguments");
    }
  }
  requests.resize(left);
  return left > 0;
}

/// Waits for the requests. When it throws, none of them is left.
void TransportCommunicator::finish(void* channel, std::vector<Request>& requests) {
  try {
    for (int tests = 1; progress(channel, requests); ++tests) {
      if (tests % tests_in_a_row == 0) table_.rest(channel);
      if (tests % tests_between_looks != 0) continue;
      read_notes();
      if (noticed_) throw RankFailure(noticed_->rank, noticed_->text);
      check_interrupt();
    }
  } catch (...) {
    break_off(requests);
    throw;
  }
}

/// Takes back what has not been received, and gets rid of what has been sent: whoever it went to has failed too or will notice
/// that others have, and takes it.
void TransportCommunicator::break_off(std::vector<Request>& requests) {
  for (Request& r : requests)
    if (r.receives) {
      int done = 0;
      if (table_.cancel(data_, &r.handle, &done) == 0 && done) ++received_[r.block];
    }
  std::erase_if(requests, [](const Request& r) { return r.receives; });
  if (!noticed_ && !requests.empty()) tell_all("it was interrupted while it exchanged messages");
  while (!requests.empty() && progress(data_, requests)) {
    drain_all();
    table_.rest(data_);
  }
}

void TransportCommunicator::exchange(std::span<const Message> outgoing, std::span<const Message> incoming) {
  PendingExchange pending;
  if (!spare_.empty()) {
    pending.requests.swap(spare_.back());
    spare_.pop_back();
  }
  start(pending, outgoing, incoming);
  wait(pending);
  pending.requests.clear();
  spare_.push_back(std::move(pending.requests));
}

void TransportCommunicator::start(PendingExchange& pending, std::span<const Message> outgoing,
                                  std::span<const Message> incoming) {
  require(pending.requests.empty(), "an exchange must be waited for before it is started again");
  const Stopwatch time = waiting();
  try {
    post(data_, outgoing, incoming, pending.requests);
  } catch (...) {
    break_off(pending.requests);
    throw;
  }
  open_.push_back(&pending);
}

void TransportCommunicator::wait(PendingExchange& pending) {
  const Stopwatch time = waiting();
  std::erase(open_, &pending);
  finish(data_, pending.requests);
}

void TransportCommunicator::abandon(PendingExchange& pending) {
  std::erase(open_, &pending);
  break_off(pending.requests);
}

void TransportCommunicator::gather(const void* own, std::size_t bytes, void* all) { gather_over(data_, own, bytes, all, false); }

void TransportCommunicator::gather_over(void* channel, const void* own, std::size_t bytes, void* all, bool listening) {
  const auto n = static_cast<std::size_t>(size_);
  rounds_.resize(n * bytes);
  if (bytes > 0) std::memcpy(rounds_.data(), own, bytes);
  // After each round the first `known` places hold the contributions of the ranks from this one on, around the circle.
  for (int known = 1; known < size_; known *= 2) {
    const Index count = std::min(known, size_ - known);
    const int tag = channel == data_ ? tags::gather : status_tag;
    const Message out{(rank_ + size_ - known) % size_, tag, rounds_.data(), count * bytes};
    const Message in{(rank_ + known) % size_, tag, rounds_.data() + static_cast<std::size_t>(known) * bytes, count * bytes};
    if (channel == data_) {
      exchange({&out, 1}, {&in, 1});
      continue;
    }
    std::vector<Request> requests;
    post(channel, {&out, 1}, {&in, 1}, requests);
    while (progress(channel, requests)) {
      if (listening) read_notes();
      if (listening && failing()) drain_all();
      table_.rest(channel);
    }
  }
  auto* to = static_cast<std::byte*>(all);
  for (std::size_t i = 0; i < n && bytes > 0; ++i)
    std::memcpy(to + (static_cast<std::size_t>(rank_) + i) % n * bytes, rounds_.data() + i * bytes, bytes);
}

/// Reads what other ranks have told about their failures.
void TransportCommunicator::read_notes() {
  for (;;) {
    int found = 0, from = -1, tag = note_tag;
    std::size_t bytes = 0;
    check(table_.probe(control_, &found, &from, &tag, &bytes));
    if (!found) return;
    std::string text(bytes, ' ');
    const Message in{from, note_tag, reinterpret_cast<std::byte*>(text.data()), bytes};
    std::vector<Request> requests;
    post(control_, {}, {&in, 1}, requests);
    while (progress(control_, requests)) table_.rest(control_);
    told_[from] = true;
    if (!noticed_ || from < noticed_->rank) noticed_ = Failure{from, std::move(text)};
  }
}

void TransportCommunicator::tell_all(const char* text) {
  if (failed_) return;
  failed_ = true;
  const std::size_t length = std::min<std::size_t>(std::strlen(text), 2000);
  std::vector<std::byte> note(length);
  std::memcpy(note.data(), text, length);
  std::vector<Message> out;
  for (int r = 0; r < size_; ++r)
    if (r != rank_) out.push_back({r, note_tag, note.data(), length});
  std::vector<Request> requests;
  post(control_, out, {}, requests);
  while (progress(control_, requests)) {
    // Others may tell of their own failures at the same time, and wait for this rank to hear them.
    read_notes();
    drain_all();
    table_.rest(control_);
  }
  told_[rank_] = true;
  if (!noticed_ || rank_ < noticed_->rank) noticed_ = Failure{rank_, std::string(text, length)};
}

/// Throws away a message that has come from a rank, -1: from any. Returns whether there was one.
bool TransportCommunicator::drain(int from) {
  int found = 0, tag = -1;
  std::size_t bytes = 0;
  check(table_.probe(data_, &found, &from, &tag, &bytes));
  if (!found) return false;
  trash_.resize(std::max(trash_.size(), bytes));
  const Message in{from, tag, trash_.data(), bytes};
  std::vector<Request> requests;
  post(data_, {}, {&in, 1}, requests);
  while (progress(data_, requests)) table_.rest(data_);
  return true;
}

void TransportCommunicator::drain_all() {
  while (drain(-1)) {
  }
}

/// Throws away what has been sent here before all ranks met.
void TransportCommunicator::take_messages_sent_before(const std::vector<Index>& sent_by_all) {
  const auto n = static_cast<std::size_t>(size_);
  for (std::size_t r = 0; r < n; ++r)
    while (received_[r] < sent_by_all[r * n + static_cast<std::size_t>(rank_)])
      if (!drain(static_cast<int>(r))) table_.rest(data_);
}

std::optional<Failure> TransportCommunicator::agree(const char* text) {
  const NoInterrupts whole;
  const Stopwatch time = waiting();
  read_notes();
  if (text) tell_all(text);
  const auto n = static_cast<std::size_t>(size_);
  std::vector<std::uint8_t> failures(n);
  const std::uint8_t own = failed_ ? 1 : 0;
  gather_over(control_, &own, 1, failures.data(), true);
  const bool any = std::any_of(failures.begin(), failures.end(), [](std::uint8_t f) { return f != 0; });
  if (!any) return std::nullopt;
  for (PendingExchange* pending : std::vector(open_)) abandon(*pending);
  std::vector<Index> sent_by_all(n * n);
  gather_over(control_, sent_.data(), n * sizeof(Index), sent_by_all.data(), false);
  take_messages_sent_before(sent_by_all);
  for (std::size_t r = 0; r < n; ++r)
    while (failures[r] && !told_[r]) {
      read_notes();
      table_.rest(control_);
    }
  // Nobody sends before all have thrown away what is left. Who is through may fail again: that note is for the next time, so
  // nobody listens here.
  std::uint8_t done = 1;
  gather_over(control_, &done, 1, failures.data(), false);
  const Failure first = *noticed_;
  noticed_.reset();
  failed_ = false;
  std::fill(told_.begin(), told_.end(), false);
  std::fill(sent_.begin(), sent_.end(), 0);
  std::fill(received_.begin(), received_.end(), 0);
  return first;
}

}  // namespace meniscus::parallel
