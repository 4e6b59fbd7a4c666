#include "runtime_state.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <exception>
#include <thread>
#include <vector>

namespace hfd {

bool Runtime::stop() {
  State& s = *state_;
  if (s.stopped.load(std::memory_order_relaxed)) return true;
  if (std::this_thread::get_id() != s.caller) return false;
  const auto now = State::Clock::now();
  if (now < s.next_look) return false;
  s.next_look = now + std::chrono::milliseconds(50);
  nanobind::gil_scoped_acquire gil;
  if (s.done != nullptr) *s.done = static_cast<double>(s.work.load(std::memory_order_relaxed));
  if (PyErr_CheckSignals() != 0) {
    s.interrupted = true;
    s.stopped.store(true, std::memory_order_relaxed);
  }
  return s.interrupted;
}

void Runtime::advance(std::uint64_t work) {
  if (state_->done != nullptr) state_->work.fetch_add(work, std::memory_order_relaxed);
}

void Runtime::fail() {
  state_->out_of_memory = true;
  state_->stopped.store(true, std::memory_order_relaxed);
}

void Runtime::both(Task first, void* first_data, Task second, void* second_data) {
  std::thread helper;
  try {
    helper = std::thread(second, second_data);
  } catch (const std::exception&) {  // no thread to be had: the result is the same without
    second(second_data);
  }
  first(first_data);
  if (helper.joinable()) helper.join();
}

void Runtime::for_each(int threads, std::size_t count, void (*task)(void*, std::size_t), void* data) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) task(data, i);
    } catch (const std::bad_alloc&) {
      fail();
    }
  };
  const auto helpers = std::min(static_cast<std::size_t>(std::max(threads, 1)), std::max<std::size_t>(count, 1)) - 1;
  std::vector<std::thread> pool;
  pool.reserve(helpers);
  try {
    for (std::size_t t = 0; t < helpers; ++t) pool.emplace_back(work);
  } catch (const std::exception&) {  // fewer threads than asked for do the same work
  }
  work();
  for (auto& thread : pool) thread.join();
}

}  // namespace hfd
