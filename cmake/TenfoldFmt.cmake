# fmt as a static library made from the packaged headers. The package has only a shared one, and the
# runtime and the wheel are to stand on nothing but the C++ library; header-only use would compile
# the formatter into every source.
include_guard()

find_package(fmt REQUIRED CONFIG)
get_target_property(_fmt_inc fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/fmt.cc @ONLY CONTENT [[
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API locale_ref::locale_ref(const std::locale& loc);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view,
                                 basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<wchar_t>;
template FMT_API auto decimal_point_impl(locale_ref) -> wchar_t;
template FMT_API void buffer<wchar_t>::append(const wchar_t*, const wchar_t*);
}  // namespace detail
FMT_END_NAMESPACE
]])
add_library(tenfold_fmt STATIC ${CMAKE_BINARY_DIR}/generated/fmt.cc)
target_include_directories(tenfold_fmt SYSTEM PUBLIC ${_fmt_inc})
set_target_properties(tenfold_fmt PROPERTIES CXX_VISIBILITY_PRESET hidden)
target_compile_options(tenfold_fmt PRIVATE -w -ffunction-sections -fdata-sections)
