// Tensor types: queries and the text form.
#include "array/type.h"

namespace tenfold {

bool TensorType::is_static() const {
  for (const Dim& d : shape) {
    if (!d.is_const()) return false;
  }
  return true;
}

std::vector<int64_t> TensorType::static_shape() const {
  TF_CHECK(is_static(), "static_shape of " + str());
  std::vector<int64_t> dims;
  dims.reserve(shape.size());
  for (const Dim& d : shape) dims.push_back(d.value());
  return dims;
}

Dim TensorType::num_elements() const { return product(shape); }

std::string TensorType::str() const {
  std::string s = "tensor<";
  for (const Dim& d : shape) s += (d.is_const() ? std::to_string(d.value()) : "?") + "x";
  s += name(dtype);
  if (!is_static()) {
    s += ", #tenfold.dims<";
    for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + shape[i].str();
    s += ">";
  }
  return s + ">";
}

Shape to_shape(const std::vector<int64_t>& dims) { return Shape(dims.begin(), dims.end()); }

}  // namespace tenfold
