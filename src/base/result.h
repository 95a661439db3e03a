// Errors as values. A function whose failure the user's input can cause returns Result<T> (or
// Status); it carries every problem found, not only the first. Our own bugs are TF_CHECK.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenfold {

// A place in the *user's* model: "file.onnx:node_name", "file.mlir:12:7", "jax.py:88". Travels with
// every op, kernel and loop down to the profile.
struct Location {
  std::string text;
  bool empty() const { return text.empty(); }
  bool operator==(const Location&) const = default;
};

// One problem. `id` is stable and documented in docs/errors.md ("onnx-unknown-op"). `message` says
// what was found, what was wanted, and one thing to do.
struct Error {
  std::string id;
  std::string message;
  Location loc;
  std::vector<std::string> notes;
};
using Errors = std::vector<Error>;

// "file:node: message [id]" and one indented line a note.
std::string to_string(const Error& e);
std::string to_string(const Errors& es);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error e) : v_(Errors{std::move(e)}) {}  // NOLINT
  Result(Errors es) : v_(std::move(es)) {}       // NOLINT
  bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(v_); }
  const T& value() const& { return std::get<0>(v_); }
  T&& value() && { return std::get<0>(std::move(v_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Errors& errors() const { return std::get<1>(v_); }
  Errors take_errors() { return std::get<1>(std::move(v_)); }

 private:
  std::variant<T, Errors> v_;
};

struct Ok {};
using Status = Result<Ok>;
inline Status ok_status() { return Ok{}; }

[[noreturn]] void check_failed(const char* file, int line, const char* cond,
                               const std::string& msg);

}  // namespace tenfold

#define TF_CONCAT_(a, b) a##b
#define TF_CONCAT(a, b) TF_CONCAT_(a, b)
// TF_TRY(expr): returns its errors from the enclosing function.
#define TF_TRY(expr)                                                  \
  do {                                                                \
    auto&& tf_status_ = (expr);                                       \
    if (!tf_status_.ok()) return std::move(tf_status_).take_errors(); \
  } while (false)
// TF_ASSIGN(auto x, expr): x = value, or return the errors.
#define TF_ASSIGN(decl, expr) TF_ASSIGN_(TF_CONCAT(tf_result_, __COUNTER__), decl, expr)
#define TF_ASSIGN_(tmp, decl, expr)        \
  auto tmp = (expr);                       \
  if (!tmp.ok()) return tmp.take_errors(); \
  decl = std::move(tmp).value()
// For our own bugs only; never for input.
#define TF_CHECK(cond, ...)                                                                      \
  do {                                                                                           \
    if (!(cond)) ::tenfold::check_failed(__FILE__, __LINE__, #cond, ::std::string{__VA_ARGS__}); \
  } while (false)
