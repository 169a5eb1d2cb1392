// The part of fmt that need not be inline, compiled once. All other files include <fmt/core.h>,
// which only declares it: they compile several times faster, and an installed hinge still needs no
// fmt.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace hinge::detail {

// Naming the functions that core.h calls makes the compiler emit them here.
[[gnu::used]] const auto kVformat =
    static_cast<std::string (*)(fmt::string_view, fmt::format_args)>(&fmt::vformat);
[[gnu::used]] const auto kVprint =
    static_cast<void (*)(std::FILE*, fmt::string_view, fmt::format_args)>(&fmt::vprint);

}  // namespace hinge::detail
