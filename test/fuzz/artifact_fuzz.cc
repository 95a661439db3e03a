// Bytes as a package, and as the program inside one (which a check sum guards otherwise).
#include <cstddef>
#include <cstdint>

#include "runtime/artifact.h"
#include "runtime/program_bytes.h"
#include "runtime/signature.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenfold::rt;  // NOLINT
  std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  (void)load_package(bytes, nullptr, "fuzz");
  auto program = read_program(bytes, "fuzz");
  if (!program.ok()) return 0;
  // Every function is there; none is called.
  std::unordered_map<std::string, void*> functions;
  static int anything;
  for (const auto& k : program->kernels)
    for (const auto& p : k.phases) functions[p.symbol] = &anything;
  auto exe = Executable::create(std::move(*program), nullptr, nullptr,
                                Code::from_table(std::move(functions)));
  if (!exe.ok()) return 0;
  (void)inputs_of((*exe)->program());
  (void)outputs_of((*exe)->program());
  return 0;
}
