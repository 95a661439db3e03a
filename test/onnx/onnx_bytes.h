// ONNX files for tests, written field by field in protobuf's wire format, so that what the reader
// is tested with does not come from the reader's own library. Field numbers are those of
// onnx.proto.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tenfold::onnx_test {

class Message {
 public:
  Message& varint(int field, uint64_t v) {
    raw(static_cast<uint64_t>(field) << 3);
    raw(v);
    return *this;
  }
  Message& bytes(int field, std::string_view v) {
    raw((static_cast<uint64_t>(field) << 3) | 2);
    raw(v.size());
    out_.append(v);
    return *this;
  }
  Message& message(int field, const Message& m) { return bytes(field, m.out_); }
  Message& f32(int field, float v) {
    raw((static_cast<uint64_t>(field) << 3) | 5);
    out_.append(reinterpret_cast<const char*>(&v), 4);
    return *this;
  }
  const std::string& str() const { return out_; }

 private:
  void raw(uint64_t v) {
    for (; v >= 0x80; v >>= 7) out_ += static_cast<char>(v | 0x80);
    out_ += static_cast<char>(v);
  }
  std::string out_;
};

enum Type { kFloat = 1, kInt64 = 7, kString = 8, kBool = 9, kUint4 = 21, kInt4 = 22 };

// TensorProto with raw_data.
template <class T>
Message tensor(std::string_view name, int type, const std::vector<int64_t>& dims,
               const std::vector<T>& data) {
  Message t;
  for (int64_t d : dims) t.varint(1, static_cast<uint64_t>(d));
  t.varint(2, static_cast<uint64_t>(type)).bytes(8, name);
  return t.bytes(9, {reinterpret_cast<const char*>(data.data()), data.size() * sizeof(T)});
}

// ValueInfoProto of a tensor; a dimension is a number, or a name.
struct DimSpec {
  DimSpec(int64_t v) : value(v) {}                // NOLINT
  DimSpec(const char* n) : value(-1), name(n) {}  // NOLINT
  int64_t value;
  std::string name;
};
inline Message value_info(std::string_view name, int type, const std::vector<DimSpec>& dims) {
  Message shape;
  for (const DimSpec& d : dims) {
    Message dim;
    if (d.value >= 0)
      dim.varint(1, static_cast<uint64_t>(d.value));
    else
      dim.bytes(2, d.name);
    shape.message(1, dim);
  }
  const Message tensor_type = Message().varint(1, static_cast<uint64_t>(type)).message(2, shape);
  return Message().bytes(1, name).message(2, Message().message(1, tensor_type));
}

inline Message attr_int(std::string_view name, int64_t v) {
  return Message().bytes(1, name).varint(3, static_cast<uint64_t>(v)).varint(20, 2);
}
inline Message attr_float(std::string_view name, float v) {
  return Message().bytes(1, name).f32(2, v).varint(20, 1);
}
inline Message attr_ref(std::string_view name, std::string_view parameter) {
  return Message().bytes(1, name).bytes(21, parameter).varint(20, 1);
}
inline Message attr_graph(std::string_view name, const Message& graph) {
  return Message().bytes(1, name).message(6, graph).varint(20, 5);
}

inline Message node(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<Message>& attrs = {},
                    std::string_view name = {}, std::string_view domain = {}) {
  Message n;
  for (auto& i : inputs) n.bytes(1, i);
  for (auto& o : outputs) n.bytes(2, o);
  if (!name.empty()) n.bytes(3, name);
  n.bytes(4, op);
  for (auto& a : attrs) n.message(5, a);
  if (!domain.empty()) n.bytes(7, domain);
  return n;
}

inline Message graph(const std::vector<Message>& nodes, const std::vector<Message>& inputs,
                     const std::vector<Message>& outputs,
                     const std::vector<Message>& initializers = {},
                     const std::vector<Message>& sparse = {}) {
  Message g;
  for (auto& n : nodes) g.message(1, n);
  g.bytes(2, "g");
  for (auto& t : initializers) g.message(5, t);
  for (auto& v : inputs) g.message(11, v);
  for (auto& v : outputs) g.message(12, v);
  for (auto& t : sparse) g.message(15, t);
  return g;
}

inline Message opset(std::string_view domain, int64_t version) {
  return Message().bytes(1, domain).varint(2, static_cast<uint64_t>(version));
}

inline std::string model(const Message& g, int64_t version = 18,
                         const std::vector<Message>& functions = {},
                         const std::vector<Message>& more_opsets = {}) {
  Message m;
  m.varint(1, 9).message(7, g).message(8, opset("", version));
  for (auto& o : more_opsets) m.message(8, o);
  for (auto& f : functions) m.message(25, f);
  return m.str();
}

}  // namespace tenfold::onnx_test
