#include "hinge/version.h"

namespace hinge {

const char* version() {
  return HINGE_VERSION;
}

}  // namespace hinge
