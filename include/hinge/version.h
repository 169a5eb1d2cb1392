// The version of the library that is linked, "major.minor.patch".
#pragma once

namespace hinge {

const char* version();

}  // namespace hinge
