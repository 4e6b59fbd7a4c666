#include "isa.hpp"

namespace hfd {

namespace portable {
extern const Kernels kKernels;
}
#ifdef HFD_X86
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
#endif

std::size_t available(const Kernels** out, std::size_t capacity) {
  std::size_t count = 0;
  const auto add = [&](const Kernels& kernels, bool runs_here) {
    if (runs_here && count < capacity) out[count++] = &kernels;
  };
  add(portable::kKernels, true);
#ifdef HFD_X86
  __builtin_cpu_init();
  add(avx2::kKernels, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"));
  add(avx512::kKernels, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                             __builtin_cpu_supports("avx512vpopcntdq"));
#endif
  return count;
}

}  // namespace hfd
