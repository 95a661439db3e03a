// A pool for kernels of microseconds: workers spin briefly for the next one before they sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tenfold::rt {

class ThreadPool {
 public:
  // `threads` in all, the caller's included; at least 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  using Task = void (*)(void* context, int64_t begin, int64_t end, int worker);
  // Splits [0, extent) into `parts` contiguous ranges and returns when all are done. A caller that
  // finds the pool busy with another run does everything itself: the values never depend on who
  // computes them.
  void run(int64_t extent, int parts, Task task, void* context);

 private:
  void work(int index);
  bool claim(uint64_t epoch, int* part);

  std::vector<std::thread> workers_;
  std::mutex busy_;
  // One cache line each, so that waiting does not disturb working.
  // Epoch of the run (32 bits), number of its parts (16) and the next unclaimed one (16): whoever
  // comes first takes a part, so a worker that is late (asleep, or its core taken away) holds
  // nobody up. In one word, because such a worker must not see the number of the run that follows.
  alignas(64) std::atomic<uint64_t> next_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};
  alignas(64) std::atomic<int> done_{0};
  alignas(64) std::atomic<bool> stop_{false};
  // The current run; a part is claimed only while its run is not over.
  std::atomic<int64_t> extent_{0};
  std::atomic<int> parts_{0};
  std::atomic<Task> task_{nullptr};
  std::atomic<void*> context_{nullptr};
};

}  // namespace tenfold::rt
