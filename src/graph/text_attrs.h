// Attributes, types and locations of MLIR text as read, before an op says what they mean.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <variant>

#include "array/literal.h"
#include "graph/text_lexer.h"

namespace tenfold::text {

// A type. Only tensors are values of the graph; the others are read so that the message about them
// can be exact.
struct Type {
  enum class Kind : uint8_t { Tensor, Scalar, Index, None, Token, Tuple, Function, Other };
  Kind kind = Kind::Other;
  TensorType tensor;                  // Tensor; Scalar: its dtype
  std::vector<Type> inputs, outputs;  // Function; Tuple: outputs
  std::string spelling;               // Other
  std::string str() const;
};

// Tensor dimensions written `?` without a name carry this symbol until they are resolved.
inline constexpr std::string_view kHole = "?";
bool is_hole(const Dim& d);
bool has_holes(const TensorType& t);

struct Attribute;
using Dictionary = std::vector<std::pair<std::string, Attribute>>;

struct Attribute {
  enum class Kind : uint8_t {
    Unit,
    Bool,
    Int,
    Float,
    String,
    Symbol,
    Type,
    Array,
    Dict,
    Dense,
    Dims,
    Enum,   // #stablehlo<precision DEFAULT>: text "DEFAULT"
    Group,  // #stablehlo.dot<a = [..], ...>: dict, text "stablehlo.dot"
    Other,  // anything else, balanced: text is its spelling
  };
  Kind kind = Kind::Unit;
  size_t offset = 0;
  bool flag = false;
  int64_t i = 0;
  double f = 0;
  std::string text;
  Type type;                     // Type; of Int and Float when written
  std::vector<Attribute> items;  // Array, also array<i64: ...>
  std::shared_ptr<Dictionary> dict;
  Literal literal;
  std::vector<Dim> dims;
  std::string_view spelling;  // of a dictionary's value: the text it stands for
};
const Attribute* find(const Dictionary& d, std::string_view name);
std::string_view kind_name(Attribute::Kind k);

struct Loc {
  std::string place;  // file:line:col, or the name when no file is given
  std::string name;
  bool bare = false;  // a name without a place
  std::vector<std::string> origins;
};

// Thrown nowhere: a syntax error sets `failed` and every function returns at once.
class Reader {
 public:
  Reader(std::string_view source, std::string_view file) : lex(source, file) { scan_aliases(); }

  Lexer lex;
  Errors errors;
  bool failed = false;  // a syntax error: reading cannot go on

  // Records a syntax error at the current token: "found X, wanted Y".
  void wanted(std::string_view what);
  // Records a problem and goes on.
  void problem(size_t offset, std::string id, std::string message);
  void syntax(size_t offset, std::string message);

  bool eat(char c);
  bool eat(std::string_view ident);
  bool expect(char c);
  bool expect_arrow();
  std::string string_literal();
  int64_t integer();  // with optional '-'

  // `typed`: numbers may be followed by ": type". Pretty forms of ops say no.
  Attribute attribute(bool typed = true);
  // [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] as the flat attributes of a convolution.
  Attribute conv_dimensions();
  Dictionary dictionary();                 // { ... }
  Dictionary dictionary_body(char close);  // up to and including `close`
  Type type();
  std::vector<Type> type_list();  // type (, type)*
  Type function_type();           // (types) -> types
  std::vector<Type> result_types();
  TensorType tensor_type();             // a tensor; anything else is a problem
  std::optional<Loc> trailing_loc();    // loc(...) if there is one
  bool skip_alias_definition();         // #name = ... or !name = ... at the top level
  std::vector<int64_t> integer_list();  // [1, 2]

  SymbolRef symbol(std::string_view name);
  std::map<std::string, SymbolRef, std::less<>> symbols;

  // Called while the reader goes deeper; false (and a syntax error) when too deep.
  struct Depth {
    explicit Depth(Reader& r) : reader(r), ok(r.enter()) {}
    ~Depth() { --reader.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    Reader& reader;
    bool ok;
  };

 private:
  bool enter();
  void scan_aliases();
  void scan_resources();
  Attribute alias(const Token& t);
  Attribute number(bool typed);
  Dictionary group_body();  // key = value, ... > of dialect attributes
  Attribute dense();
  Attribute dense_resource();
  Attribute dense_array();
  Attribute dialect_attribute(const Token& t);
  Attribute array();
  std::string balanced(size_t begin);  // spelling from `begin` over the <...> that comes
  Type tensor();
  Type element_type();
  std::vector<Dim> dims_body();
  Loc location();
  Loc location_alias(const Token& t);
  friend class DenseReader;

  std::unordered_map<std::string_view, size_t> aliases_;         // #name -> offset of the value
  std::unordered_map<std::string_view, size_t> type_aliases_;    // !name
  std::unordered_map<std::string, std::string_view> resources_;  // name -> hex digits
  std::unordered_map<std::string_view, Loc> loc_cache_;
  std::unordered_map<std::string_view, Attribute> attr_cache_;
  std::set<std::string_view> open_aliases_;
  int depth_ = 0;
};

constexpr int kMaxDepth = 200;
constexpr int64_t kMaxDenseBytes = int64_t{1} << 30;
constexpr size_t kMaxErrors = 50;

// dense<...> with a stated type; see text_dense.cc.
class DenseReader {
 public:
  explicit DenseReader(Reader& r) : r_(r) {}
  // After "dense<": reads to the closing '>' and the type.
  Attribute read(size_t offset);
  // Raw bytes in hex (without 0x) as MLIR stores them.
  bool from_hex(std::string_view hex, size_t offset, const TensorType& t, Literal& out);
  bool check_size(const TensorType& t, size_t offset);

 private:
  Attribute finish(Attribute a, const TensorType& t, bool ok);
  bool skip_body();  // over the nested list, to the closing '>'
  bool list(Literal& l, size_t level, int64_t& at);
  bool element(Literal& l, int64_t i);
  bool number(DType t, std::byte* out);
  Reader& r_;
};

}  // namespace tenfold::text
