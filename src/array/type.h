// TensorType: element type and shape with possibly symbolic dimensions.
#pragma once

#include <string>
#include <vector>

#include "array/dim.h"
#include "array/dtype.h"

namespace tenfold {

using Shape = std::vector<Dim>;

struct TensorType {
  DType dtype = DType::F32;
  Shape shape;
  int rank() const { return static_cast<int>(shape.size()); }
  bool is_static() const;
  std::vector<int64_t> static_shape() const;  // TF_CHECKs is_static()
  Dim num_elements() const;
  // "tensor<2x3xf32>", symbolic: "tensor<?x3xf32, #tenfold.dims<n, 3>>"
  std::string str() const;
  bool operator==(const TensorType&) const = default;
};

inline TensorType type_of(DType d, std::initializer_list<Dim> s) { return {d, Shape(s)}; }
Shape to_shape(const std::vector<int64_t>& dims);

}  // namespace tenfold
