// Kernel -> LLVM functions, one a phase. Statements are generated once; inside a vectorized loop
// every statement is generated for each piece (a register's worth of lanes), expressions as scalars
// where all lanes agree and as vectors where they do not.
#pragma once

#include <map>
#include <unordered_map>

#include "backends/backend.h"
#include "backends/cpu/gen.h"
#include "backends/cpu/lanes.h"
#include "loop/ir.h"

namespace tenfold::cpu {

struct PhaseCode {
  std::string symbol;
  loop::Expr workspace_bytes;
  loop::Expr extent;
};

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& m, const Machine& machine, const CodegenOptions& opt,
                const loop::Kernel& k, std::string stem, const std::string& features,
                const std::string& cpu);
  Result<std::vector<PhaseCode>> run();

 private:
  using Var = loop::VarDef;
  struct Storage {
    V base;                  // pointer
    std::vector<V> strides;  // elements, row-major
    bool lane_private = false;
    llvm::MDNode* scope = nullptr;    // list of its own scope
    llvm::MDNode* noalias = nullptr;  // list of the others
    int depth = 0;                    // loops around the declaration
  };
  struct Piece {
    int start, width, active;
  };
  struct Lanes {
    const LaneFacts* facts;
    V begin;
    int extent;
    std::vector<Piece> pieces;
    std::vector<V> masks;  // a piece; null value: all lanes
  };
  struct Lin {  // base + stride * lane of the piece
    V base;
    int64_t stride = 0;
    V dynamic;  // a stride known at run time only
    bool uniform() const { return stride == 0 && !dynamic; }
  };
  struct Address {
    enum class Kind : uint8_t { Uniform, Linear, Scattered } kind = Kind::Uniform;
    V base;
    int64_t stride = 0;
    V dynamic;
    V offsets;
    bool in_bounds = false;
  };

  // phases
  Status phase(const std::vector<const loop::Stmt*>& stmts, bool parallel, PhaseCode* out);
  void declare_params(llvm::Function* fn);
  Storage storage_of(const loop::Buffer& b, V base);

  // statements
  void body(const loop::Body& b);
  void stmt(const loop::Stmt& s);
  void for_loop(const loop::Stmt& s);
  void serial_loop(const loop::Stmt& s, V begin, V extent);
  void vector_loop(const loop::Stmt& s, int64_t extent);
  void unrolled_loop(const loop::Stmt& s, int64_t extent);
  void while_loop(const loop::Stmt& s);
  void if_stmt(const loop::Stmt& s);
  void let(const loop::Stmt& s);
  void alloc(const loop::Stmt& s);
  void store(const loop::Stmt& s);
  void reduce_store(const loop::Stmt& s, Prim p);
  void prefetch(const loop::Stmt& s);
  void dot4(const loop::Stmt& s, bool signed_a, bool signed_b);
  V load_four(const loop::Expr& e);
  bool contracts(const loop::Stmt& s) const;
  std::vector<Piece> make_pieces(int extent, int element_bytes) const;

  // expressions
  Val eval(const loop::Expr& e);
  Val eval_node(const loop::Expr& e);
  V scalar(const loop::Expr& e);  // uniform, real
  V condition(const loop::Expr& e) { return eval(e).re; }
  V all_lanes(const loop::Expr& c);
  Val guard(const loop::Expr& e);
  Val compare_lanes(const loop::Expr& e);
  bool lin(const loop::Expr& e, Lin* out);
  V index_op(Prim p, V a, V b, bool is_index, bool nonnegative);
  V lane_iota(int64_t stride, int bits);
  bool varying(const loop::Expr& e) const { return lanes_ && lanes_->facts->varying(e); }
  int width() const { return lanes_ ? lanes_->pieces[piece_].width : 1; }
  V mask() const { return lanes_ ? lanes_->masks[piece_] : V{}; }

  // memory
  Address address(const loop::Buffer& b, const std::vector<loop::Expr>& index);
  Val load(const loop::Expr& e);
  V load_part(const Address& a, llvm::Type* mem, int scale, int part, int part_bytes,
              const Storage& st);
  void store_part(const Address& a, V value, int scale, int part, int part_bytes,
                  const Storage& st);
  V pointer_at(V base, llvm::Type* mem, V offset, int scale, int part);
  V safe_pointer(V p, V active);
  // Puts the buffer's alias scopes on a load or store.
  template <class I>
  I* annotate(I* inst, const Storage& st) {
    if (st.scope) inst->setMetadata(llvm::LLVMContext::MD_alias_scope, st.scope);
    if (st.noalias) inst->setMetadata(llvm::LLVMContext::MD_noalias, st.noalias);
    return inst;
  }
  const Storage& find(const loop::Buffer& b);
  V alloca_bytes(llvm::Type* t, int64_t count, const std::string& name);

  void fail(std::string id, std::string message);
  V full_mask(int w);

  Gen g_;
  const CodegenOptions& opt_;
  const loop::Kernel& k_;
  std::string stem_, features_, cpu_;
  llvm::Function* fn_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  V workspace_;
  loop::Expr workspace_size_;
  std::unordered_map<const Var*, std::vector<Val>> vars_;
  std::unordered_map<const loop::BufferDef*, Storage> buffers_;
  std::unordered_map<const loop::BufferDef*, V> frames_;  // storage that unrolled copies share
  std::unordered_map<const loop::BufferDef*, loop::Expr> offsets_;  // into the workspace
  std::vector<const loop::Stmt*> top_lets_;
  IndexFacts facts_;
  struct MemoKey {
    const loop::ExprNode* e;
    int piece;
    bool operator==(const MemoKey&) const = default;
  };
  struct MemoHash {
    size_t operator()(const MemoKey& k) const {
      return reinterpret_cast<size_t>(k.e) * 31 + static_cast<size_t>(k.piece);
    }
  };
  std::unordered_map<MemoKey, Val, MemoHash> memo_;
  std::vector<MemoKey> memo_log_;
  std::vector<loop::Expr> pinned_;  // expressions made here, so that memo keys stay theirs
  void memo_clear();
  size_t memo_mark() const { return memo_log_.size(); }
  void memo_rewind(size_t mark);
  std::vector<const Var*> loops_;
  int unrolled_ = 0;  // unrolled loops around
  Lanes* lanes_ = nullptr;
  int piece_ = 0;
  V dummy_;
  Errors errors_;
};

}  // namespace tenfold::cpu
