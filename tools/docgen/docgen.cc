// Writes the pages that come from tables: a page for each graph op, the ONNX ops read, the passes,
// the chip's instructions.
//
//   docgen OUTDIR [SOURCE]     SOURCE: the checkout, whose test/ops/*.test give the examples
//
// `make docs` calls it; the pages are not committed.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/file.h"
#include "base/text.h"
#include "driver/pipeline.h"
#include "frontends/onnx/onnx_op.h"
#include "graph/op_def.h"
#include "tpu/isa/isa.h"

namespace tenfold {
namespace {

namespace fs = std::filesystem;

struct KindText {
  OpKind kind;
  std::string_view name, text;
};
constexpr KindText kKinds[] = {
    {OpKind::Constant, "Constant", "no operands that are read as data"},
    {OpKind::Elementwise, "Elementwise",
     "each result element is a function of the operands' elements "
     "at the same place"},
    {OpKind::View, "View", "each result element is an element of an operand, or a pad value"},
    {OpKind::Contraction, "Contraction", "sums of products"},
    {OpKind::Window, "Window", "a window moves over the operand"},
    {OpKind::Reduce, "Reduce", "dimensions are reduced or scanned"},
    {OpKind::GatherScatter, "Gather and scatter", "elements at indices that are data"},
    {OpKind::Sort, "Sort", "elements are put in order"},
    {OpKind::Region, "Region", "control flow over blocks and functions"},
    {OpKind::Collective, "Collective", "joins devices"},
    {OpKind::Opaque, "Opaque", "writes its own loops"},
    {OpKind::Terminator, "Terminator", "ends a block"},
};

std::string_view text(AttrKind k) {
  switch (k) {
    case AttrKind::Bool:
      return "boolean";
    case AttrKind::I64:
      return "integer";
    case AttrKind::F64:
      return "float";
    case AttrKind::Str:
      return "string";
    case AttrKind::Enum:
      return "word";
    case AttrKind::Func:
      return "function";
    case AttrKind::Type:
      return "element type";
    case AttrKind::I64s:
      return "integers";
    case AttrKind::Bools:
      return "booleans";
    case AttrKind::Dims:
      return "sizes";
    case AttrKind::Strs:
      return "strings";
    case AttrKind::Lit:
      return "tensor";
    case AttrKind::Dict:
      return "dictionary";
  }
  return "?";
}

std::string_view text(AttrRole r) {
  switch (r) {
    case AttrRole::Plain:
      return "";
    case AttrRole::PerDim:
      return "one entry a dimension";
    case AttrRole::PerDimPair:
      return "two entries (low, high) a dimension";
    case AttrRole::DimIndex:
      return "numbers of dimensions";
  }
  return "";
}

std::string count(int low, int high) {
  if (low == high) return std::to_string(low);
  if (high < 0) return low == 0 ? "any number" : std::to_string(low) + " or more";
  return std::to_string(low) + " to " + std::to_string(high);
}

// A cell of a table ends neither at a bar nor at a line's end.
std::string cell(std::string_view s) {
  std::string r;
  for (char c : s) r += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  return r;
}

// The literal cases of test/ops/*.test, by op.
std::map<std::string, std::vector<std::string>> examples(const std::string& source) {
  std::map<std::string, std::vector<std::string>> all;
  std::error_code ec;
  std::vector<std::string> files;
  for (const auto& e : fs::directory_iterator(join_path(source, "test/ops"), ec))
    if (e.path().extension() == ".test") files.push_back(e.path().string());
  std::sort(files.begin(), files.end());
  for (const auto& f : files) {
    auto content = read_text_file(f, int64_t{1} << 24);
    if (!content.ok()) continue;
    for (std::string_view line : split(*content, '\n')) {
      const size_t space = line.find(' ');
      if (space != std::string_view::npos && line.find('.') < space)
        all[std::string(line.substr(0, space))].emplace_back(line);
    }
  }
  return all;
}

std::string lowering(const OpDef& d) {
  if (d.prim) return "the primitive `" + std::string(name(*d.prim)) + "`";
  if (d.element) return "one element at a time, so it is computed inside the kernel that reads it";
  if (d.emit) return "its own loop nests";
  return "by the program itself (control flow) or not at all";
}

std::string op_page(const OpDef& d, const std::vector<std::string>& cases) {
  std::string s = "# " + std::string(d.name) + "\n\n" + std::string(d.summary) + "\n";
  if (!d.doc.empty() && d.doc != d.summary) s += "\n" + std::string(d.doc) + "\n";
  std::string_view kind;
  for (const auto& k : kKinds)
    if (k.kind == d.kind) kind = k.name;
  s += "\n| | |\n|---|---|\n| kind | " + std::string(kind) + " |\n";
  s += "| operands | " + count(d.min_operands, d.max_operands) + " |\n";
  s += "| results | " + (d.num_results < 0 ? "any number" : std::to_string(d.num_results)) +
       std::string(d.explicit_results ? ", their types are stated" : "") + " |\n";
  if (d.num_regions != 0) {
    s += "| regions | " + (d.num_regions < 0 ? "any number" : std::to_string(d.num_regions)) +
         " |\n";
  }
  s += "| lowered to | " + lowering(d) + " |\n";
  if (d.in_place_operand >= 0) {
    s += "| in place | over operand " + std::to_string(d.in_place_operand) +
         " where nothing else reads it |\n";
  }
  if (!d.attrs.empty()) {
    s += "\n## Attributes\n\n| name | is | required | |\n|---|---|---|---|\n";
    for (const auto& a : d.attrs) {
      std::string note(text(a.role));
      if (!a.doc.empty()) note += (note.empty() ? "" : "; ") + cell(a.doc);
      s += "| `" + std::string(a.name) + "` | " + std::string(text(a.kind)) + " | " +
           (a.required ? "yes" : "no") + " | " + note + " |\n";
    }
  }
  if (!d.constraints.empty()) {
    s += "\n## Constraints\n\nReported under these labels, numbered as in the StableHLO "
         "specification "
         "where the op is from there: ";
    for (size_t i = 0; i < d.constraints.size(); ++i)
      s += (i ? ", `" : "`") + std::string(d.constraints[i]) + "`";
    s += ".\n";
  }
  if (!cases.empty()) {
    constexpr size_t kShown = 12;
    s += "\n## Cases\n\nFrom `test/ops`; `!C1` is an error with that label.\n\n```\n";
    for (size_t i = 0; i < std::min(kShown, cases.size()); ++i) s += cases[i] + "\n";
    s += "```\n";
  }
  return s;
}

std::string op_index() {
  std::string s = "# Graph ops\n";
  for (const auto& k : kKinds) {
    std::vector<const OpDef*> ops;
    for (const OpDef* d : all_ops())
      if (d->kind == k.kind) ops.push_back(d);
    if (ops.empty()) continue;
    std::sort(ops.begin(), ops.end(),
              [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
    s += "\n## " + std::string(k.name) + "\n\nKind: " + std::string(k.text) +
         ".\n\n| op | |\n|---|---|\n";
    for (const OpDef* d : ops) {
      s += "| [`" + std::string(d->name) + "`](" + std::string(d->name) + ".md) | " +
           cell(d->summary) + " |\n";
    }
  }
  return s;
}

std::string onnx_page() {
  struct Row {
    std::string domain, name, versions, summary, limits;
  };
  std::vector<Row> rows;
  for (const onnx::OnnxOp* op : onnx::all_onnx_ops()) {
    for (const auto& n : op->names) {
      std::vector<std::string> versions;
      for (int v : n.versions) versions.push_back(std::to_string(v));
      rows.push_back({op->domain.empty() ? "ai.onnx" : std::string(op->domain), std::string(n.name),
                      join(versions, ", "), cell(op->summary),
                      op->limits.empty() ? "-" : cell(op->limits)});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
  });
  std::string s =
      "# ONNX ops that are read\n\n" + std::to_string(rows.size()) +
      " ops. The versions are the opsets in which the standard changed the op; models of "
      "any opset from the first on are read.\n\n"
      "| domain | op | versions | | not supported |\n|---|---|---|---|---|\n";
  for (const Row& r : rows) {
    s += "| " + r.domain + " | " + r.name + " | " + r.versions + " | " + r.summary + " | " +
         r.limits + " |\n";
  }
  return s;
}

std::string pass_page() {
  std::string s = "# Graph passes\n\nAt each level, in order; a pass may come more than once.\n";
  for (int level = 0; level <= 3; ++level) {
    s += "\n* `-O" + std::to_string(level) + "`: " + join(pipeline(level), ", ");
  }
  s += "\n\n| pass | | why there |\n|---|---|---|\n";
  for (const GraphPass* p : all_graph_passes()) {
    s += "| `" + std::string(p->name) + "` | " + cell(p->summary) + " | " + cell(p->why_here) +
         " |\n";
  }
  return s;
}

Status write_all(const std::string& out, const std::string& source) {
  const std::string ops = join_path(out, "ops");
  std::error_code ec;
  fs::create_directories(ops, ec);
  if (ec) return Error{"file-write", "cannot make the folder: " + ec.message(), {ops}, {}};
  const auto cases = examples(source);
  for (const OpDef* d : all_ops()) {
    auto it = cases.find(std::string(d->name));
    TF_TRY(write_file(join_path(ops, std::string(d->name) + ".md"),
                      op_page(*d, it == cases.end() ? std::vector<std::string>() : it->second)));
  }
  TF_TRY(write_file(join_path(ops, "index.md"), op_index()));
  TF_TRY(write_file(join_path(out, "onnx.md"), onnx_page()));
  TF_TRY(write_file(join_path(out, "passes.md"), pass_page()));
  TF_TRY(write_file(join_path(out, "isa.md"), tpu::reference_page()));
  std::printf("%zu op pages, onnx.md, passes.md and isa.md in %s\n", all_ops().size(), out.c_str());
  return ok_status();
}

}  // namespace
}  // namespace tenfold

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: docgen OUTDIR [SOURCE]\n", stderr);
    return 2;
  }
  auto done = tenfold::write_all(argv[1], argc > 2 ? argv[2] : ".");
  if (done.ok()) return 0;
  std::fputs(tenfold::to_string(done.errors()).c_str(), stderr);
  return 1;
}
