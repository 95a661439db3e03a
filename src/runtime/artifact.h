// Compiled models as files and as linked-in data.
//
//   .tenfold  one package: program, constants, code (a shared object)
//   .so       a shared object that exports `tenfold_model`: functions and a package without code
//   .o        the same, to be linked into a program
//
// A package is little-endian: a 64-byte header, a table of 32-byte section entries, the sections,
// each at a multiple of 64 bytes. Constants are used where they lie: a file is mapped, not read.
//
// Every size, offset and check sum is examined before use, so a damaged file is an error. An
// artifact holds native code all the same: whoever loads one runs it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/executor.h"
#include "runtime/program.h"

namespace tenfold::rt {

// Written into every package. A reader accepts its own version and every older one.
inline constexpr uint32_t kPackageVersion = 1;

// What the symbol `tenfold_model` (or the one named in a generated header) stands for. Its layout
// is part of the format: object_blob.cc writes it byte by byte.
struct Linked {
  uint64_t magic = 0;  // kLinkedMagic
  const std::byte* package = nullptr;
  uint64_t package_bytes = 0;
  uint64_t function_count = 0;
  // Followed by the functions of all phases of all kernels, in order.
  void* const* functions() const { return reinterpret_cast<void* const*>(this + 1); }
};
inline constexpr uint64_t kLinkedMagic = 0x314b4e4c444c4654;  // "TFLDLNK1"
inline constexpr char kLinkedSymbol[] = "tenfold_model";
// Ends a .so, after what the linker wrote: magic, bytes before it, their check sum.
inline constexpr size_t kTrailerBytes = 24;

uint64_t check_sum(std::span<const std::byte> bytes);

// Hands a package piece by piece to `sink`. Empty `code`: none, functions come from a Linked.
Status write_package(const Program& p, std::span<const std::byte> constants, std::string_view code,
                     const std::function<Status(std::span<const std::byte>)>& sink);
// A shared object with the trailer that load_artifact wants.
std::string so_trailer(std::span<const std::byte> shared_object);

// True when the file's first bytes are those of a package or of an ELF file.
bool looks_like_artifact(std::span<const std::byte> bytes);

Result<std::shared_ptr<const Executable>> load_artifact(const std::string& path);
// A package in memory. `owner` keeps it alive; null: the caller does, longer than the result.
Result<std::shared_ptr<const Executable>> load_package(std::span<const std::byte> bytes,
                                                       std::shared_ptr<const void> owner,
                                                       const std::string& what);
Result<std::shared_ptr<const Executable>> load_linked(const Linked& linked);

}  // namespace tenfold::rt
