// The state behind Runtime: one for each call of a kernel, on the stack of the calling thread.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime.hpp"

namespace hfd {

struct Runtime::State {
  using Clock = std::chrono::steady_clock;

  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> stopped{false};
  bool interrupted = false;  // a Python exception (KeyboardInterrupt) is set
  std::atomic<bool> out_of_memory{false};
  std::atomic<std::uint64_t> work{0};
  double* done = nullptr;  // where the caller publishes the work, if anybody looks
  Clock::time_point next_look = Clock::now() + std::chrono::milliseconds(50);
};

}  // namespace hfd
