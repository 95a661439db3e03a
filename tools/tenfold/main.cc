// tenfold: the command line. Every subcommand is a file of its own.
#include <cstdio>
#include <new>

#include "command.h"

namespace tenfold::cli {
namespace {

constexpr AddCommand kCommands[] = {
    add_run,      add_compile, add_check,   add_bench,   add_profile,
    add_simulate, add_tune,    add_targets, add_version,
};

int run(int argc, char** argv) {
  CLI::App program{"Tenfold compiles trained models to native code and runs them.", "tenfold"};
  program.require_subcommand(1);
  program.set_version_flag("--version", std::string("tenfold " TENFOLD_VERSION));
  program.footer("`tenfold COMMAND --help` says what a command takes.");
  Action action;
  for (AddCommand add : kCommands) add(program, action);
  try {
    program.parse(argc, argv);
    Result<int> code = action();
    if (code.ok()) return *code;
    print_errors(code.errors());
    return kInputAtFault;
  } catch (const CLI::Success& e) {
    return program.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "tenfold: %s\n", e.what());
    std::string known = argc > 1 ? argv[1] : "";
    const CLI::App* sub = nullptr;
    for (const CLI::App* s : program.get_subcommands([](const CLI::App*) { return true; }))
      if (s->get_name() == known) sub = s;
    std::fprintf(stderr, "See `tenfold %s--help`.\n", sub ? (known + " ").c_str() : "");
    return kWrongUsage;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tenfold: there is not enough memory [out-of-memory]\n");
    return kInputAtFault;
  }
}

}  // namespace
}  // namespace tenfold::cli

int main(int argc, char** argv) { return tenfold::cli::run(argc, argv); }
