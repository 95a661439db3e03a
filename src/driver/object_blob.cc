#include "driver/object_blob.h"

#include <elf.h>

#include <cstring>
#include <unordered_map>

#include "runtime/artifact.h"

namespace tenfold {
namespace {

Error unexpected(const std::string& what) {
  return {"object-form", "the backend's object file " + what, {}, {}};
}

// The type of a relocation that stores a 64-bit address; 0: unknown machine.
uint32_t address_relocation(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return R_X86_64_64;
    case EM_AARCH64:
      return R_AARCH64_ABS64;
    case EM_RISCV:
      return R_RISCV_64;
    default:
      return 0;
  }
}

template <class T>
void append(std::string& out, const T& v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

// Appends `bytes` at a multiple of `align`; the place.
uint64_t append_at(std::string& out, std::string_view bytes, uint64_t align) {
  out.resize((out.size() + align - 1) / align * align);
  uint64_t at = out.size();
  out += bytes;
  return at;
}

class Editor {
 public:
  explicit Editor(const std::string& object) : in_(object) {}

  Status read() {
    if (in_.size() < sizeof header_) return unexpected("is too short");
    std::memcpy(&header_, in_.data(), sizeof header_);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
        header_.e_type != ET_REL)
      return unexpected("is no 64-bit little-endian relocatable ELF file");
    relocation_ = address_relocation(header_.e_machine);
    if (!relocation_) return unexpected("is for a machine that .so and .o artifacts do not know");
    if (header_.e_shnum == 0 || header_.e_shstrndx >= header_.e_shnum)
      return unexpected("has too many sections");
    sections_.resize(header_.e_shnum);
    if (!inside(header_.e_shoff, sections_.size() * sizeof(Elf64_Shdr)))
      return unexpected("has no section table");
    std::memcpy(sections_.data(), in_.data() + header_.e_shoff,
                sections_.size() * sizeof(Elf64_Shdr));
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      if (s.sh_type != SHT_NOBITS && !inside(s.sh_offset, s.sh_size))
        return unexpected("has a section outside the file");
      if (s.sh_type == SHT_SYMTAB) symtab_ = i;
    }
    if (!symtab_ || sections_[symtab_].sh_link >= sections_.size())
      return unexpected("has no symbols");
    strtab_ = sections_[symtab_].sh_link;
    names_ = content(strtab_);
    symbols_.resize(sections_[symtab_].sh_size / sizeof(Elf64_Sym));
    std::memcpy(symbols_.data(), in_.data() + sections_[symtab_].sh_offset,
                symbols_.size() * sizeof(Elf64_Sym));
    return ok_status();
  }

  // Hides and renames what the object defines for others.
  void rename(const std::string& prefix) {
    for (size_t i = 1; i < symbols_.size(); ++i) {
      Elf64_Sym& s = symbols_[i];
      if (ELF64_ST_BIND(s.st_info) == STB_LOCAL || s.st_shndx == SHN_UNDEF) continue;
      std::string name = names_.c_str() + std::min<size_t>(s.st_name, names_.size());
      defined_[name] = i;
      s.st_name = add_name(prefix + name);
      s.st_other = STV_HIDDEN;
    }
  }

  // A new global symbol at the start of section `section`.
  size_t define(const std::string& name, uint16_t section, uint64_t size,
                unsigned char visibility) {
    Elf64_Sym s{};
    s.st_name = add_name(name);
    s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    s.st_other = visibility;
    s.st_shndx = section;
    s.st_size = size;
    symbols_.push_back(s);
    return symbols_.size() - 1;
  }

  uint16_t add_section(const char* name, uint32_t type, uint64_t flags, uint64_t align,
                       uint64_t entry, std::string bytes) {
    Elf64_Shdr s{};
    s.sh_type = type;
    s.sh_flags = flags;
    s.sh_addralign = align;
    s.sh_entsize = entry;
    sections_.push_back(s);
    added_.push_back({name, std::move(bytes)});
    return static_cast<uint16_t>(sections_.size() - 1);
  }

  Status embed(const std::string& symbol, const std::vector<std::string>& functions,
               std::string_view package) {
    size_t first = sections_.size();
    if (first + 3 >= SHN_LORESERVE) return unexpected("has too many sections");
    uint16_t blob =
        add_section(".rodata.tenfold", SHT_PROGBITS, SHF_ALLOC, 64, 0, std::string(package));
    std::string table;
    append(table, rt::kLinkedMagic);
    append(table, uint64_t{0});
    append(table, static_cast<uint64_t>(package.size()));
    append(table, static_cast<uint64_t>(functions.size()));
    table.resize(table.size() + functions.size() * 8);
    uint64_t table_bytes = table.size();
    uint16_t data = add_section(".data.rel.ro.tenfold", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8, 0,
                                std::move(table));
    size_t package_symbol = define(symbol + "_package", blob, package.size(), STV_HIDDEN);
    define(symbol, data, table_bytes, STV_DEFAULT);
    std::string relocations;
    auto relocate = [&](uint64_t offset, size_t target) {
      append(relocations, Elf64_Rela{offset, ELF64_R_INFO(target, relocation_), 0});
    };
    relocate(8, package_symbol);
    for (size_t i = 0; i < functions.size(); ++i) {
      auto it = defined_.find(functions[i]);
      if (it == defined_.end()) return unexpected("does not define " + functions[i]);
      relocate(sizeof(rt::Linked) + 8 * i, it->second);
    }
    uint16_t rela = add_section(".rela.data.rel.ro.tenfold", SHT_RELA, SHF_INFO_LINK, 8,
                                sizeof(Elf64_Rela), std::move(relocations));
    sections_[rela].sh_link = static_cast<uint32_t>(symtab_);
    sections_[rela].sh_info = data;
    return ok_status();
  }

  std::string write() {
    std::string out = in_;
    size_t first = sections_.size() - added_.size();
    // Section names may share the table of symbol names.
    bool shared = header_.e_shstrndx == strtab_;
    std::string section_names = shared ? "" : content(header_.e_shstrndx);
    for (size_t i = 0; i < added_.size(); ++i) {
      Elf64_Shdr& s = sections_[first + i];
      if (shared) {
        s.sh_name = add_name(added_[i].name);
      } else {
        s.sh_name = static_cast<uint32_t>(section_names.size());
        section_names += added_[i].name + std::string(1, '\0');
      }
      s.sh_size = added_[i].bytes.size();
      s.sh_offset = append_at(out, added_[i].bytes, s.sh_addralign);
    }
    auto replace = [&](size_t section, std::string_view bytes, uint64_t align) {
      sections_[section].sh_offset = append_at(out, bytes, align);
      sections_[section].sh_size = bytes.size();
    };
    replace(symtab_,
            {reinterpret_cast<const char*>(symbols_.data()), symbols_.size() * sizeof(Elf64_Sym)},
            8);
    replace(strtab_, names_, 1);
    if (!shared) replace(header_.e_shstrndx, section_names, 1);
    header_.e_shoff = append_at(
        out,
        {reinterpret_cast<const char*>(sections_.data()), sections_.size() * sizeof(Elf64_Shdr)},
        8);
    header_.e_shnum = static_cast<uint16_t>(sections_.size());
    std::memcpy(out.data(), &header_, sizeof header_);
    return out;
  }

 private:
  bool inside(uint64_t offset, uint64_t size) const {
    return offset <= in_.size() && size <= in_.size() - offset;
  }
  std::string content(size_t section) const {
    return in_.substr(sections_[section].sh_offset, sections_[section].sh_size);
  }
  uint32_t add_name(const std::string& name) {
    uint32_t at = static_cast<uint32_t>(names_.size());
    names_ += name;
    names_.push_back('\0');
    return at;
  }

  struct Added {
    std::string name, bytes;
  };
  const std::string& in_;
  Elf64_Ehdr header_{};
  uint32_t relocation_ = 0;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string names_;
  size_t symtab_ = 0, strtab_ = 0;
  std::unordered_map<std::string, size_t> defined_;
  std::vector<Added> added_;
};

}  // namespace

Result<std::string> embed_package(const std::string& object, const std::string& symbol,
                                  const std::vector<std::string>& functions,
                                  std::string_view package) {
  Editor e(object);
  TF_TRY(e.read());
  e.rename(symbol + "_");
  TF_TRY(e.embed(symbol, functions, package));
  return e.write();
}

}  // namespace tenfold
