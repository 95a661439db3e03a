# LLVM and lld. Two ways to link them:
#
#   libLLVM.so      tests and development tools: they link in a moment
#   LLVM's archives what people start (tenfold_own_llvm): only what is used, without libLLVM.so's
#                   twenty targets, its symbol search and relocations; 20 MiB less memory, 20 ms
#                   less to start
include_guard()

set(TENFOLD_LLVM_TARGETS X86 AArch64 RISCV)
if(EXISTS ${CMAKE_SOURCE_DIR}/src/backends/ptx)
  list(APPEND TENFOLD_LLVM_TARGETS NVPTX)
endif()

# LLVM is an optional part of the tree: it is looked for when a folder that needs it exists.
function(tenfold_find_llvm)
  if(TARGET tenfold_llvm)
    return()
  endif()
  find_package(LLVM 19.1 REQUIRED CONFIG)
  find_package(LLD REQUIRED CONFIG HINTS ${LLVM_INSTALL_PREFIX}/lib/cmake/lld)
  add_library(tenfold_llvm INTERFACE)
  target_include_directories(tenfold_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  separate_arguments(defs NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_options(tenfold_llvm INTERFACE ${defs})
  # A subclass of an LLVM type needs the same RTTI setting as LLVM itself.
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(tenfold_llvm INTERFACE -fno-rtti)
  endif()
  tenfold_llvm_archives(archives)
  # lld names libLLVM.so as a dependency of its own: which LLVM it gets is decided here alone.
  set_target_properties(lldCommon PROPERTIES INTERFACE_LINK_LIBRARIES "")
  set_target_properties(lldELF PROPERTIES INTERFACE_LINK_LIBRARIES "")
  set(own $<BOOL:$<TARGET_PROPERTY:TENFOLD_OWN_LLVM>>)
  target_link_libraries(tenfold_llvm INTERFACE
    lldELF lldCommon $<IF:${own},tenfold_llvm_absent,LLVM> "$<${own}:${archives}>" ZLIB::ZLIB zstd)
endfunction()

# The archives behind what backends and lld use, and empty functions in place of what lld names and
# Tenfold does not have: it starts every target that LLVM knows, and offers Polly to links of bitcode.
function(tenfold_llvm_archives result)
  execute_process(
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-config --link-static --libfiles passes option lto
            ${TENFOLD_LLVM_TARGETS}
    OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(archives NATIVE_COMMAND "${archives}")
  list(FILTER archives EXCLUDE REGEX "libPolly")
  file(STRINGS ${LLVM_INCLUDE_DIR}/llvm/Config/Targets.def lines REGEX "^LLVM_TARGET")
  set(code "#include <llvm/Passes/PassPlugin.h>\n"
           "llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }\n" "extern \"C\" {\n")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*\\((.*)\\).*" "\\1" target "${line}")
    set(absent AsmParser)
    if(NOT target IN_LIST TENFOLD_LLVM_TARGETS)
      set(absent TargetInfo Target TargetMC AsmPrinter AsmParser)
    endif()
    foreach(part IN LISTS absent)
      string(APPEND code "void LLVMInitialize${target}${part}() {}\n")
    endforeach()
  endforeach()
  string(APPEND code "}\n")
  set(source ${CMAKE_BINARY_DIR}/generated/llvm_absent.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "${code}" @ONLY)
  add_library(tenfold_llvm_absent STATIC EXCLUDE_FROM_ALL ${source})
  target_include_directories(tenfold_llvm_absent SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_compile_options(tenfold_llvm_absent PRIVATE -fno-rtti)
  set(${result} -Wl,--start-group ${archives} -Wl,--end-group PARENT_SCOPE)
endfunction()

# `target` is linked with LLVM's archives.
function(tenfold_own_llvm target)
  if(NOT TENFOLD_SANITIZE)
    set_target_properties(${target} PROPERTIES TENFOLD_OWN_LLVM ON)
    target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,--as-needed
                        -Wl,-z,keep-text-section-prefix)
  endif()
endfunction()
