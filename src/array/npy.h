// NumPy's .npy and .npz files.
//
// Types that NumPy lacks travel as ml_dtypes writes them: bf16 as |V2, the 8-bit and narrower
// floats and the 2- and 4-bit integers as |V1, one value a byte (the integers also as int8/uint8).
// Such bytes do not say which type they hold: a reader passes the one it wants.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/literal.h"
#include "base/result.h"

namespace tenfold {

// Reads one array; what follows it is not looked at. C-ordered little-endian data is borrowed from
// `bytes` (kept alive by `owner`) when it is aligned, else copied. `want` only decides what |V1,
// |V2, and int8/uint8 for a 2- or 4-bit integer stand for; any other file keeps its own type.
// |V2 without `want` is bf16. `where` names the input in errors.
// Errors: npy-magic, npy-header, npy-dtype, npy-truncated, npy-value.
Result<Literal> read_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         std::string_view where, std::optional<DType> want = {});
Result<Literal> read_npy_file(const std::string& path, std::optional<DType> want = {});

// Version 1.0, C order, little-endian, data aligned to 64 bytes.
std::string npy_bytes(const Literal& x);
Status write_npy_file(const std::string& path, const Literal& x);

struct NamedLiteral {
  std::string name;  // without ".npy"
  Literal value;
};
using WantedType = std::function<std::optional<DType>(std::string_view name)>;

// Stored and deflated entries, in the archive's order. Errors: npz-format, npz-entry, and those of
// read_npy.
Result<std::vector<NamedLiteral>> read_npz(std::span<const std::byte> bytes,
                                           std::shared_ptr<const void> owner,
                                           std::string_view where, const WantedType& want = {});
Result<std::vector<NamedLiteral>> read_npz_file(const std::string& path,
                                                const WantedType& want = {});
// Entries are stored (mapped again without a copy) or, with `compress`, deflated.
Status write_npz_file(const std::string& path, const std::vector<NamedLiteral>& entries,
                      bool compress = false);

}  // namespace tenfold
