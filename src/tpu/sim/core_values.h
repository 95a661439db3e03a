// The values of one core: vector and mask registers, vector memory, the arrays' contents.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "tpu/sim/core.h"

namespace tenfold::tpu {

// 64-byte aligned zeros.
template <class T>
class Block {
 public:
  Block() = default;
  explicit Block(size_t n)
      : data_(static_cast<T*>(std::aligned_alloc(64, (n * sizeof(T) + 63) / 64 * 64)), std::free) {
    std::fill_n(data_.get(), n, T{});
  }
  T* get() const { return data_.get(); }
  T& operator[](size_t i) const { return data_.get()[i]; }

 private:
  std::unique_ptr<T, void (*)(void*)> data_{nullptr, std::free};
};

struct Core::Values {
  static constexpr int kSpares = 32;  // more than a bundle can write

  // One matrix unit. Weights are K rows of N columns; of K, blocks of 16 rows (32 for s8) count
  // that were pushed.
  struct Matrix {
    Block<float> next, present;
    std::vector<bool> next_rows, present_rows;  // by row of K
    bool next_int8 = false, present_int8 = false;
    Block<float> rows;                            // staged left-hand rows
    uint32_t staged = 0;                          // bit of each K part
    std::vector<Block<uint32_t>> results, spare;  // of the queue, oldest at `head`
    size_t head = 0;
    Block<float> accumulators;  // kVregWords each
    std::vector<bool> accumulator_int8;
  };
  // A copy that nobody has waited for.
  struct Copy {
    int semaphore;
    Space from_space, to_space;
    Side from, to;
    std::string what;
  };

  explicit Values(const Chip& chip);
  uint32_t word(int reg, int32_t at) const { return vector[reg][at & (kVregWords - 1)]; }

  std::vector<Block<uint32_t>> vector_store;
  std::vector<Block<uint8_t>> mask_store;
  uint32_t* vector[kVectorRegs];
  uint8_t* mask[kMaskRegs];
  uint32_t* spare_vector[kSpares];
  uint8_t* spare_mask[kSpares];
  OnChip vmem;
  std::vector<Matrix> matrices;
  Block<float> product;
  Block<uint32_t> gathered, transposed;  // 128 x 128
  std::vector<Copy> copies;
  bool vmem_copies = false;  // one of them touches vector memory
};

}  // namespace tenfold::tpu
