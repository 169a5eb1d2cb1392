// Checks a model's certificate against the data, trusting neither the solver nor the model.
//
// P and D are recomputed from the rows, the weights w and the witness alpha of the model, and
// rounded outwards; the box 0 <= alpha_i <= U_i and the fingerprint of the data are checked first.
#pragma once

#include <atomic>
#include <string>

#include "hinge/dataset.h"
#include "hinge/model.h"
#include "hinge/result.h"

namespace hinge {

struct VerifyOptions {
  bool prove = false;  // find a bound where the model has none, by dual descent
  double gap = 1e-3;   // how tight the bound found by `prove` shall be, relative to the optimum
  int threads = 0;
  // Polled: verify() then soon fails with run.interrupted. With `prove` it takes the bound found so
  // far, if there is the time.
  const std::atomic<bool>* stop = nullptr;
};

struct VerifyReport {
  Certificate recomputed;  // over all problems, as Model::certificate()
  Certificate stored;
  // Labels are the classes of the data; the stored interval from bound to primal contains the one
  // that weights and witness have, as far as rounding lets one tell, and is wider by at most 1e-9
  // of the primal; the gap is that of the interval, and the status that of the gap. Without a
  // witness the bound is not looked at, unless it exceeds the primal. A model that says nothing
  // (bound "unknown", after an interrupt) agrees with anything.
  bool agrees = false;
  std::string why;  // it does not agree, in words; empty if it does
  // It agrees, and the recomputed bound is that of a witness, or was found (`prove`).
  bool proved = false;
};

// Read `data` with the precision and index base of the model (origin.precision, index_base). Fails
// with verify.data when it is not the data the model was trained on, model.content when the witness
// does not fit. A certificate that does not agree is a result, not a failure.
Result<VerifyReport> verify(const Model& model, const Dataset& data,
                            const VerifyOptions& options = {});

}  // namespace hinge
