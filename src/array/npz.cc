// The .npz format: a zip archive of .npy files, stored or deflated, with the 64-bit extensions.
//
// The central directory is what counts; local headers are only checked and skipped. An archive that
// claims more than deflate can produce from its bytes is refused before memory is taken.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "array/npy.h"
#include "base/file.h"
#include "base/reader.h"

namespace tenfold {
namespace {

constexpr uint32_t kLocalMark = 0x04034b50, kCentralMark = 0x02014b50, kEndMark = 0x06054b50;
constexpr uint32_t kEnd64Mark = 0x06064b50, kEnd64LocatorMark = 0x07064b50;
constexpr uint16_t kZip64Extra = 1, kAlignExtra = 0xd935;
constexpr uint64_t kMaxRatio = 1032;  // of deflate

struct Entry {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, header_at = 0;
};

Error damaged(const Reader& r, const std::string& found) {
  return r.fail("npz-format", found + "; the archive is damaged, write it again with numpy.savez");
}

struct Directory {
  uint64_t at = 0, count = 0, size = 0;
};

// From the end record, which a comment of up to 64 KiB may follow.
Result<Directory> find_directory(Reader& r) {
  constexpr size_t kEndSize = 22;
  if (r.size() < kEndSize)
    return r.fail("npz-format", "found no zip archive; write it with numpy.savez");
  const size_t lowest = r.size() - kEndSize > 65535 ? r.size() - kEndSize - 65535 : 0;
  for (size_t p = r.size() - kEndSize + 1; p-- > lowest;) {
    TF_TRY(r.seek(p));
    TF_ASSIGN(const uint32_t mark, r.read_u32());
    if (mark != kEndMark) continue;
    TF_TRY(r.skip(6));
    Directory d;
    TF_ASSIGN(d.count, r.read_u16());
    TF_ASSIGN(d.size, r.read_u32());
    TF_ASSIGN(d.at, r.read_u32());
    const bool is_zip64 = d.count == 0xffff || d.size == 0xffffffff || d.at == 0xffffffff;
    if (is_zip64 && p >= 20) {
      TF_TRY(r.seek(p - 20));
      TF_ASSIGN(const uint32_t locator, r.read_u32());
      if (locator == kEnd64LocatorMark) {
        TF_TRY(r.skip(4));
        TF_ASSIGN(const uint64_t end64, r.read_u64());
        TF_TRY(r.seek(end64));
        TF_ASSIGN(const uint32_t mark64, r.read_u32());
        if (mark64 != kEnd64Mark) return damaged(r, "found no 64-bit end record");
        TF_TRY(r.skip(28));
        TF_ASSIGN(d.count, r.read_u64());
        TF_ASSIGN(d.size, r.read_u64());
        TF_ASSIGN(d.at, r.read_u64());
      }
    }
    return d;
  }
  return r.fail("npz-format", "found no zip archive; write it with numpy.savez");
}

Result<Entry> read_entry(Reader& r) {
  TF_ASSIGN(const uint32_t mark, r.read_u32());
  if (mark != kCentralMark) return damaged(r, "found no directory entry where one should be");
  Entry e;
  TF_TRY(r.skip(4));
  TF_ASSIGN(e.flags, r.read_u16());
  TF_ASSIGN(e.method, r.read_u16());
  TF_TRY(r.skip(4));
  TF_ASSIGN(e.crc, r.read_u32());
  TF_ASSIGN(e.packed, r.read_u32());
  TF_ASSIGN(e.size, r.read_u32());
  TF_ASSIGN(const uint16_t name_size, r.read_u16());
  TF_ASSIGN(const uint16_t extra_size, r.read_u16());
  TF_ASSIGN(const uint16_t comment_size, r.read_u16());
  TF_TRY(r.skip(8));
  TF_ASSIGN(e.header_at, r.read_u32());
  TF_ASSIGN(const std::string_view name, r.text(name_size));
  e.name = name;
  TF_ASSIGN(Reader extra, r.sub(extra_size));
  while (extra.remaining() >= 4) {
    TF_ASSIGN(const uint16_t id, extra.read_u16());
    TF_ASSIGN(const uint16_t size, extra.read_u16());
    TF_ASSIGN(Reader field, extra.sub(size));
    if (id != kZip64Extra) continue;
    for (uint64_t* v : {&e.size, &e.packed, &e.header_at}) {
      if (*v == 0xffffffff) {
        TF_ASSIGN(*v, field.read_u64());
      }
    }
  }
  TF_TRY(r.skip(comment_size));
  return e;
}

// Raw deflate data of a declared size, grown as it comes, so that a lie costs no memory.
Result<std::shared_ptr<std::string>> inflate_entry(const Reader& r, const Entry& e,
                                                   std::span<const std::byte> packed) {
  if (e.size / kMaxRatio > e.packed + 1) {
    return damaged(r, "'" + e.name + "' claims " + std::to_string(e.size) + " bytes from " +
                          std::to_string(e.packed));
  }
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return damaged(r, "cannot start to inflate");
  struct End {
    z_stream* z;
    ~End() { inflateEnd(z); }
  } end{&z};
  auto out = std::make_shared<std::string>();
  constexpr size_t kPiece = size_t{1} << 20;
  size_t used = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    if (z.avail_in == 0) {
      const size_t k = std::min(packed.size() - used, kPiece);
      // zlib's type lacks a const that it keeps.
      z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + used));
      z.avail_in = static_cast<uInt>(k);
      used += k;
    }
    const size_t at = out->size();
    // One byte over, to see data that should not be there.
    const size_t room = std::min<uint64_t>(e.size - at + 1, std::max(kPiece, at));
    out->resize(at + room);
    z.next_out = reinterpret_cast<Bytef*>(out->data() + at);
    z.avail_out = static_cast<uInt>(std::min<size_t>(room, UINT32_MAX));
    const uInt given = z.avail_out;
    code = inflate(&z, Z_NO_FLUSH);
    out->resize(at + (given - z.avail_out));
    if (out->size() > e.size) break;
    if (code == Z_BUF_ERROR && used < packed.size()) code = Z_OK;
  }
  if (code != Z_STREAM_END || out->size() != e.size) {
    return damaged(r, "the deflated data of '" + e.name + "' is cut off or not what it claims");
  }
  return out;
}

uint32_t crc_of(const void* p, size_t n) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(p), n));
}

}  // namespace

Result<std::vector<NamedLiteral>> read_npz(std::span<const std::byte> bytes,
                                           std::shared_ptr<const void> owner,
                                           std::string_view where, const WantedType& want) {
  Reader r(bytes, where);
  TF_ASSIGN(const Directory dir, find_directory(r));
  TF_TRY(r.seek(dir.at));
  TF_TRY(r.check_count(dir.count, 46));
  std::vector<NamedLiteral> all;
  std::set<std::string> names;
  uint64_t packed_total = 0;
  for (uint64_t i = 0; i < dir.count; ++i) {
    TF_ASSIGN(const Entry e, read_entry(r));
    const size_t next = r.pos();
    constexpr std::string_view kSuffix = ".npy";
    const std::string name =
        e.name.ends_with(kSuffix) ? e.name.substr(0, e.name.size() - kSuffix.size()) : e.name;
    if (name == e.name || !names.insert(name).second) {
      return r.fail("npz-entry", name == e.name ? "found the entry '" + name +
                                                      "', wanted only names that end in .npy"
                                                : "found the entry '" + name + "' twice");
    }
    if ((e.flags & 1) || (e.method != 0 && e.method != 8)) {
      return r.fail("npz-entry",
                    "the entry '" + name +
                        "' is encrypted or packed by another method than deflate; write it with "
                        "numpy.savez");
    }
    TF_TRY(r.seek(e.header_at));
    TF_ASSIGN(const uint32_t mark, r.read_u32());
    if (mark != kLocalMark) return damaged(r, "found no header for the entry '" + name + "'");
    TF_TRY(r.skip(22));
    TF_ASSIGN(const uint16_t name_size, r.read_u16());
    TF_ASSIGN(const uint16_t extra_size, r.read_u16());
    TF_TRY(r.skip(uint64_t{name_size} + extra_size));
    TF_ASSIGN(std::span<const std::byte> data, r.bytes(e.packed));
    packed_total += e.packed;
    if (packed_total > bytes.size()) return damaged(r, "entries share the same bytes");
    std::shared_ptr<const void> keep = owner;
    if (e.method == 8) {
      TF_ASSIGN(std::shared_ptr<std::string> inflated, inflate_entry(r, e, data));
      data = std::as_bytes(std::span(inflated->data(), inflated->size()));
      keep = std::move(inflated);
    } else if (e.size != e.packed) {
      return damaged(r, "the stored entry '" + name + "' has two sizes");
    }
    if (crc_of(data.data(), data.size()) != e.crc) {
      return damaged(r, "the checksum of '" + name + "' does not fit");
    }
    TF_ASSIGN(Literal value, read_npy(data, keep, std::string(where) + ":" + name,
                                      want ? want(name) : std::nullopt));
    all.push_back({name, std::move(value)});
    TF_TRY(r.seek(next));
  }
  return all;
}

Result<std::vector<NamedLiteral>> read_npz_file(const std::string& path, const WantedType& want) {
  TF_ASSIGN(const FileBytes f, map_file(path));
  return read_npz(f.bytes, f.owner, path, want);
}

namespace {

void put16(std::string& s, uint64_t v) {
  for (int i = 0; i < 2; ++i) s += static_cast<char>(v >> (8 * i));
}
void put32(std::string& s, uint64_t v) {
  for (int i = 0; i < 4; ++i) s += static_cast<char>(v >> (8 * i));
}
void put64(std::string& s, uint64_t v) {
  for (int i = 0; i < 8; ++i) s += static_cast<char>(v >> (8 * i));
}

// What local and central headers share: version to names' size. Sizes always in the extra field.
void put_common(std::string& s, const Entry& e) {
  put16(s, 45);  // needs: 64-bit extensions
  put16(s, e.flags);
  put16(s, e.method);
  put16(s, 0);     // time
  put16(s, 0x21);  // 1980-01-01: the same bytes on every run
  put32(s, e.crc);
  put32(s, 0xffffffff);
  put32(s, 0xffffffff);
  put16(s, e.name.size());
}

Result<std::string> deflated(const std::string& raw, const std::string& name) {
  z_stream z{};
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return Error{"npz-entry", "cannot deflate '" + name + "'", {}, {}};
  }
  std::string out;
  constexpr size_t kPiece = size_t{1} << 20;
  size_t used = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    const size_t k = std::min(raw.size() - used, kPiece);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw.data() + used));
    z.avail_in = static_cast<uInt>(k);
    used += k;
    const int flush = used == raw.size() ? Z_FINISH : Z_NO_FLUSH;
    do {
      const size_t at = out.size();
      out.resize(at + kPiece);
      z.next_out = reinterpret_cast<Bytef*>(out.data() + at);
      z.avail_out = static_cast<uInt>(kPiece);
      code = deflate(&z, flush);
      out.resize(out.size() - z.avail_out);
    } while (z.avail_out == 0 && code != Z_STREAM_END);
  }
  deflateEnd(&z);
  return out;
}

}  // namespace

Status write_npz_file(const std::string& path, const std::vector<NamedLiteral>& entries,
                      bool compress) {
  TF_ASSIGN(AtomicFile f, AtomicFile::create(path));
  std::string directory;
  uint64_t at = 0;
  for (const NamedLiteral& item : entries) {
    std::string raw = npy_bytes(item.value);
    Entry e;
    e.name = item.name + ".npy";
    if (e.name.size() > 65535) {
      return Error{"npz-entry", "found an entry's name of more than 65535 bytes", {}, {}};
    }
    e.flags = 0x800;  // the name is UTF-8
    e.method = compress ? 8 : 0;
    e.crc = crc_of(raw.data(), raw.size());
    e.size = raw.size();
    e.header_at = at;
    if (compress) {
      TF_ASSIGN(raw, deflated(raw, item.name));
    }
    e.packed = raw.size();

    std::string local;
    put32(local, kLocalMark);
    put_common(local, e);
    // Stored data starts at a multiple of 64, so that it can be used where it is mapped.
    constexpr size_t kZip64Size = 20, kPadHead = 4;
    const uint64_t fixed = at + local.size() + 2 + e.name.size() + kZip64Size + kPadHead;
    const size_t pad = static_cast<size_t>((64 - fixed % 64) % 64);
    put16(local, kZip64Size + kPadHead + pad);
    local += e.name;
    put16(local, kZip64Extra);
    put16(local, 16);
    put64(local, e.size);
    put64(local, e.packed);
    put16(local, kAlignExtra);
    put16(local, pad);
    local.append(pad, '\0');
    TF_TRY(f.write(local));
    TF_TRY(f.write(raw));
    at += local.size() + raw.size();

    put32(directory, kCentralMark);
    put16(directory, 45);
    put_common(directory, e);
    put16(directory, 28);  // extra
    put16(directory, 0);   // comment
    put16(directory, 0);   // disk
    put16(directory, 0);   // internal attributes
    put32(directory, uint64_t{0600} << 16);
    put32(directory, 0xffffffff);
    directory += e.name;
    put16(directory, kZip64Extra);
    put16(directory, 24);
    put64(directory, e.size);
    put64(directory, e.packed);
    put64(directory, e.header_at);
  }
  std::string end;
  put32(end, kEnd64Mark);
  put64(end, 44);
  put16(end, 45);
  put16(end, 45);
  put32(end, 0);
  put32(end, 0);
  put64(end, entries.size());
  put64(end, entries.size());
  put64(end, directory.size());
  put64(end, at);
  put32(end, kEnd64LocatorMark);
  put32(end, 0);
  put64(end, at + directory.size());
  put32(end, 1);
  put32(end, kEndMark);
  put16(end, 0);
  put16(end, 0);
  put16(end, 0xffff);
  put16(end, 0xffff);
  put32(end, 0xffffffff);
  put32(end, 0xffffffff);
  put16(end, 0);
  TF_TRY(f.write(directory));
  TF_TRY(f.write(end));
  return f.commit();
}

}  // namespace tenfold
