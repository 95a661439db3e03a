// Tokens of MLIR text. Reads hostile bytes: every look-ahead is bounds-checked, nothing recurses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tenfold::text {

enum class Tok : uint8_t {
  End,
  Ident,      // add, stablehlo.add, tensor, true
  Integer,    // 12, 0x1F
  Float,      // 1.5, 1.0e-3
  String,     // "..."; text() is between the quotes, still escaped
  Value,      // %x or %3; a following #n is separate (Punct '#', Integer)
  Block,      // ^bb0
  Symbol,     // @name or @"name"; text() is the name
  Hash,       // #name, text() without '#'
  Bang,       // !name
  Arrow,      // ->
  Punct,      // one character
  MetaOpen,   // {-#
  MetaClose,  // #-}
  Bad,        // a byte that starts no token, an open string
};

struct Token {
  Tok kind = Tok::End;
  std::string_view text;
  size_t begin = 0, end = 0;
  bool is(char c) const { return kind == Tok::Punct && text[0] == c; }
  bool is(std::string_view ident) const { return kind == Tok::Ident && text == ident; }
};

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view file);
  const Token& peek() const { return token_; }
  Token next();              // the current token; moves on
  void seek(size_t offset);  // the current token becomes the one at or after `offset`
  size_t offset() const { return token_.begin; }
  std::string_view source() const { return source_; }

  // "file:line:col" of a byte offset.
  Location at(size_t offset) const;
  // What stands there, for messages: 'stablehlo.add', the end of the file.
  std::string found() const { return found(token_); }
  static std::string found(const Token& t);

 private:
  void lex();
  void take(Tok kind, size_t begin, size_t end, size_t skip_front = 0, size_t skip_back = 0);

  std::string_view source_;
  std::string file_;
  std::vector<size_t> lines_;  // offset of each line's first byte
  size_t pos_ = 0;
  Token token_;
};

// The bytes a string literal stands for: \n \t \" \\ and \XX.
std::string unescape(std::string_view s);
std::string quote(std::string_view s);

}  // namespace tenfold::text
