// What a kernel needs from the machine: another pair of hands, and a way to stop.
//
// Kernels are compiled once per instruction set (isa.hpp). This header is the border between those translation units
// and the rest: declarations only, so that no inline function of the standard library is emitted with
// instructions that the machine may not have.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hfd {

class Runtime {
 public:
  using Task = void (*)(void*);

  // True once the user has asked to stop (or a kernel has failed): return early, the output is discarded.
  bool stop();

  // Says that so much more is done, in the kernel's own unit of work, for whoever shows progress.
  void advance(std::uint64_t work);

  // The kernel could not get its memory.
  void fail();

  // Runs both tasks, the second in a thread of its own, and returns when both are done.
  void both(Task first, void* first_data, Task second, void* second_data);

  // Calls task(data, i) for i = 0 .. count - 1, shared between `threads` threads.
  void for_each(int threads, std::size_t count, void (*task)(void*, std::size_t), void* data);

  struct State;
  explicit Runtime(State* state) : state_(state) {}

 private:
  State* state_;
};

}  // namespace hfd
