// All of hinge. Start with train.h.
#pragma once

#include "hinge/check.h"
#include "hinge/checkpoint.h"
#include "hinge/compare.h"
#include "hinge/dataset.h"
#include "hinge/file_kind.h"
#include "hinge/files.h"
#include "hinge/json.h"
#include "hinge/kernel.h"
#include "hinge/metrics.h"
#include "hinge/model.h"
#include "hinge/options.h"
#include "hinge/result.h"
#include "hinge/stream.h"
#include "hinge/train.h"
#include "hinge/verify.h"
#include "hinge/version.h"
