// Chip programs from outside, as bytes and as text: an error or a program, which reads the same
// again and which a chip runs to an end, an error or the limit.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tpu/isa/isa.h"
#include "tpu/sim/machine.h"

namespace {

using namespace tenfold;       // NOLINT: a program of its own
using namespace tenfold::tpu;  // NOLINT

void run(const Program& p) {
  static const Chip chip = *find_chip("v2");
  Machine m(chip);
  if (!m.load(p).ok()) return;
  RunOptions o;
  o.values = false;
  o.max_bundles = 2000;
  for (Clock clock : {Clock::Bundle, Clock::Tile}) {
    o.clock = clock;
    auto r = m.run(o);
    if (!r.ok()) TF_CHECK(!r.errors().empty());
  }
}

}  // namespace

extern "C" void tenfold_fuzz_seeds(std::vector<std::string>* seeds) {
  const std::string text =
      ".shape hbm vmem 8 x 4 64 8 weights\n.kernel \"a\" 1\n"
      "smov s1, 9 ; vsplat v0, 1.5f\n"
      "a: dma s1, 0, 1, 0 ; sand s2, s1, 3\nwait 1, 1\nvld v1, s1, 0\nmxw.bf16 0, 0, v1\nmxswap 0\n"
      "mxm.bf16 0, 0, 16, v1\nmxpop v2, 0\nmxpop v2, 0\njz s2, b\nvexp.f32 v2, v2\n"
      "b: vst s1, 8, v2 ; loop s1, a\n.end\n.region \"x\" 0 8\n.host \"h\" \"r\" 1 2\nhost "
      "0\nhalt\n";
  seeds->push_back(text);
  seeds->push_back(encode(*assemble(text)));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (auto p = decode(input); p.ok()) {
    TF_CHECK(*decode(encode(*p)) == *p);
    run(*p);
  }
  if (auto p = assemble(input); p.ok()) {
    auto again = assemble(disassemble(*p));
    TF_CHECK(again.ok() && *again == *p);
    run(*p);
  }
  return 0;
}
