#include "runtime/thread_pool.h"

#include <algorithm>
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

bool ThreadPool::claim(uint64_t epoch, int* part) {
  uint64_t now = next_.load(std::memory_order_acquire);
  for (;;) {
    if (now >> 32 != epoch) return false;
    int index = static_cast<int>(now & 0xffff);
    if (index >= static_cast<int>(now >> 16 & 0xffff)) return false;
    if (next_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      *part = index;
      return true;
    }
  }
}

void ThreadPool::run(int64_t extent, int parts, Task task, void* context) {
  std::unique_lock lock(busy_, std::try_to_lock);
  if (parts <= 1 || extent <= 1 || workers_.empty() || !lock.owns_lock()) {
    task(context, 0, extent, 0);
    return;
  }
  // Nobody can claim while the fields change: the old run has no part left, and says so itself.
  parts = std::min(parts, 0xffff);
  extent_.store(extent, std::memory_order_relaxed);
  parts_.store(parts, std::memory_order_relaxed);
  task_.store(task, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  uint64_t epoch = epoch_.load(std::memory_order_relaxed) + 1u;
  epoch &= 0xffffffff;
  next_.store(epoch << 32 | static_cast<uint64_t>(parts) << 16, std::memory_order_release);
  epoch_.store(static_cast<uint32_t>(epoch), std::memory_order_release);
  epoch_.notify_all();
  int mine = 0;
  while (claim(epoch, &mine)) {
    auto [begin, end] = part(extent, parts, mine);
    if (begin < end) task(context, begin, end, 0);
    done_.fetch_add(1, std::memory_order_acq_rel);
  }
  for (int spins = 0; done_.load(std::memory_order_acquire) != parts; ++spins) {
    if (spins < 1024)
      pause();
    else
      std::this_thread::yield();
  }
}

void ThreadPool::work(int index) {
  uint32_t seen = 0;
  for (;;) {
    uint32_t now = epoch_.load(std::memory_order_acquire);
    if (now == seen) {
      auto until = std::chrono::steady_clock::now() + kSpin;
      while ((now = epoch_.load(std::memory_order_acquire)) == seen) {
        for (int i = 0; i < 32; ++i) pause();
        if (std::chrono::steady_clock::now() > until) {
          epoch_.wait(seen, std::memory_order_acquire);
          break;
        }
      }
      continue;
    }
    seen = now;
    if (stop_.load(std::memory_order_acquire)) return;
    int mine = 0;
    while (claim(now, &mine)) {
      int parts = parts_.load(std::memory_order_relaxed);
      auto [begin, end] = part(extent_.load(std::memory_order_relaxed), parts, mine);
      if (begin < end)
        task_.load(std::memory_order_relaxed)(context_.load(std::memory_order_relaxed), begin, end,
                                              index);
      done_.fetch_add(1, std::memory_order_acq_rel);
    }
  }
}

}  // namespace tenfold::rt
