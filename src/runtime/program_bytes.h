// A Program as bytes and back: the "program" section of every artifact.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/program.h"

namespace tenfold::rt {

std::string program_bytes(const Program& p);
// `what` names the input in errors. Only the form is checked here (every read is bounded, every
// enumeration known); whether indices point at something is Executable::create's business.
Result<Program> read_program(std::span<const std::byte> bytes, std::string_view what);

}  // namespace tenfold::rt
