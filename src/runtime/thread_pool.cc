#include "runtime/thread_pool.h"

#include <chrono>

namespace tenfold::rt {
namespace {

// Longer than the gap between two kernels of one model, shorter than what a caller between two
// inferences would notice as load.
constexpr auto kSpin = std::chrono::microseconds(100);

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

std::pair<int64_t, int64_t> part(int64_t extent, int parts, int i) {
  return {extent * i / parts, extent * (i + 1) / parts};
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (auto& t : workers_) t.join();
}

void ThreadPool::run(int64_t extent, int parts, Task task, void* context) {
  std::unique_lock lock(busy_, std::try_to_lock);
  if (parts > threads()) parts = threads();
  if (parts <= 1 || extent <= 1 || !lock.owns_lock()) {
    task(context, 0, extent, 0);
    return;
  }
  extent_ = extent;
  parts_ = parts;
  task_ = task;
  context_ = context;
  pending_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  auto [begin, end] = part(extent, parts, 0);
  task(context, begin, end, 0);
  // The others started at the same moment on as much work: sleeping would cost more than it saves,
  // unless the machine is oversubscribed.
  for (int spins = 0; pending_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < 4096)
      pause();
    else
      std::this_thread::yield();
  }
}

void ThreadPool::work(int index) {
  uint64_t seen = 0;
  for (;;) {
    uint64_t now = epoch_.load(std::memory_order_acquire);
    if (now == seen) {
      auto until = std::chrono::steady_clock::now() + kSpin;
      while ((now = epoch_.load(std::memory_order_acquire)) == seen) {
        for (int i = 0; i < 32; ++i) pause();
        if (std::chrono::steady_clock::now() > until) {
          epoch_.wait(seen, std::memory_order_acquire);
          now = epoch_.load(std::memory_order_acquire);
          break;
        }
      }
      if (now == seen) continue;
    }
    seen = now;
    if (stop_.load(std::memory_order_acquire)) return;
    if (index < parts_) {
      auto [begin, end] = part(extent_, parts_, index);
      if (begin < end) task_(context_, begin, end, index);
    }
    pending_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

}  // namespace tenfold::rt
