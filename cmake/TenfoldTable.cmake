# The directory is the table: an array of the descriptors that a folder's files define, made when
# CMake configures. References only, so no static constructor runs and no archive member is dropped.
include_guard()

# tenfold_table(<folder> <prefix> <type> <header> <output>
#               ACCESSOR <qualified function> [GLOB <pattern>])
#
# <folder>/add.cc defines `extern const <type> <prefix>add` in the type's namespace; the generated
# <output> defines `std::span<const <type>* const> <accessor>()`, which <header> declares. Files
# `_x.cc` and `x_util.cc` are helpers. With GLOB */backend.cc the folder's name is the stem.
# Makes nothing, and sets <output> empty-handed, while <header> does not exist yet; sets
# TENFOLD_TABLE_SOURCE in the caller to the generated file or to nothing.
function(tenfold_table folder prefix type header output)
  cmake_parse_arguments(PARSE_ARGV 5 arg "" "ACCESSOR;GLOB" "")
  if(NOT arg_GLOB)
    set(arg_GLOB *.cc)
  endif()
  file(GLOB header_found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${header})
  file(GLOB files RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/${arg_GLOB})
  set(TENFOLD_TABLE_SOURCE "" PARENT_SCOPE)
  if(NOT header_found)
    return()
  endif()

  string(REGEX REPLACE "::[^:]*$" "" namespace ${type})
  string(REGEX REPLACE "^.*::" "" accessor ${arg_ACCESSOR})
  set(declarations "")
  set(entries "")
  list(SORT files)
  foreach(file IN LISTS files)
    get_filename_component(stem ${file} NAME_WE)
    if(stem MATCHES "^_" OR stem MATCHES "_util$")
      continue()
    endif()
    get_filename_component(parent ${file} DIRECTORY)
    if(parent)
      set(stem ${parent})
    endif()
    string(APPEND declarations "extern const ${type} ${prefix}${stem};\n")
    string(APPEND entries "    &${prefix}${stem},\n")
  endforeach()
  if(entries)
    set(body "const ::${type}* const kTable[] = {\n${entries}};\n")
    set(result "kTable")
  else()
    set(body "")
    set(result "{}")
  endif()
  file(RELATIVE_PATH shown ${CMAKE_SOURCE_DIR} ${folder})
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
// Generated from the files of @shown@.
#include "@header@"

#include <span>

namespace @namespace@ {
@declarations@
namespace {
@body@}  // namespace

std::span<const ::@type@* const> @accessor@() { return @result@; }
}  // namespace @namespace@
]])
  set(TENFOLD_TABLE_SOURCE ${output} PARENT_SCOPE)
endfunction()

# tenfold_embed(<folder> <suffix> <header> <type> <accessor> <output>)
#
# The files <folder>/*.<suffix> as text: <output> defines `std::span<const <type>> <accessor>()`, one
# {stem, contents} a file, in order of name.
function(tenfold_embed folder suffix header type accessor output)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.${suffix})
  list(SORT files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  string(REGEX REPLACE "::[^:]*$" "" namespace ${type})
  string(REGEX REPLACE "^.*::" "" function ${accessor})
  set(entries "")
  foreach(file IN LISTS files)
    get_filename_component(stem ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND entries "    {\"${stem}\", R\"embedded(${text})embedded\"},\n")
  endforeach()
  file(RELATIVE_PATH shown ${CMAKE_SOURCE_DIR} ${folder})
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
// Generated from the files of @shown@.
#include "@header@"

namespace @namespace@ {
namespace {
const ::@type@ kFiles[] = {
@entries@};
}  // namespace

std::span<const ::@type@> @function@() { return kFiles; }
}  // namespace @namespace@
]])
endfunction()
