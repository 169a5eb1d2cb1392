// A trained model: hyperplanes, the labels they stand for, and the proof of how good they are.
//
// Classes are known by labels, whole numbers; where classes have names, the label is a place in the
// list class_names (hinge/labels.h).
//
// Regression: one hyperplane, whose score is what is predicted, and no labels.
// Binary: one hyperplane; labels = {positive, negative}. Several classes: one hyperplane a class
// (one against the rest). Score of class k on row x: <w_k, x> + b_k. The largest score wins, the
// first of equal ones; but a class of which nothing was learned, since training was stopped before
// its turn, never wins as long as there is another (candidates()). In a binary model a score > 0
// means labels[0], any other labels[1]. Labels are distinct. train() takes the larger of two for
// the positive one and sorts several; a model from elsewhere keeps its own order.
//
// With a kernel (docs/kernels.md) a model keeps rows instead of a weight a feature: the score of
// class k on row x is sum_j w_k[j] K(support row j, x) + b_k.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/kernel.h"
#include "hinge/loss.h"
#include "hinge/result.h"

namespace hinge {

// P(w) = 1/2|w|^2 + C sum_i c_i l(y_i <w,x_i>), l the loss, and a lower bound D <= min P, computed
// from the data and rounded outwards, so that they hold in real arithmetic: the primal is at least
// P(w), the dual at most min P (docs/math.md); with a kernel in its space; with a free bias b the
// margin is y_i (<w,x_i> + b), and the minimum is over w and b. relative_gap = (P - D)/P; 1 without
// a bound. A run that was interrupted may have had no time to compute them: they are then not
// known, and verify() computes them.
struct Certificate {
  double primal = 0;
  double dual = 0;
  double relative_gap = 1;
  // How D was obtained: "witness", "proved" (by verify), or "none"; "unknown": neither is known,
  // and both are 0.
  std::string bound;

  bool known() const { return bound != "unknown"; }
  bool bounded() const { return known() && bound != "none"; }
};

// Feasible dual variables in compact form: 2 bits a row (0: zero, 1: at its upper bound, mostly
// U_i, 3: at its lower bound, where that is not zero, 2: in between) and the values in between, in
// row order. With the hinge these are few and kept as they are. Other losses leave most rows in
// between: theirs are shares of U_i, rounded to as few bits as the gap allows, and the certificate
// is that of the rounded ones. docs/formats.md has the codes.
struct Witness {
  std::vector<std::uint8_t> states = {};
  std::vector<double> free = {};  // where `bits` is 64
  int bits = 64;                  // of a value in between: 16, 32 or 64
  int exponent = 0;               // shares are shorter than 2^exponent
  // Where `bits` is 16 or 32: codes of shares, little-endian.
  std::vector<std::uint8_t> packed = {};
  bool empty() const { return states.empty(); }
  bool operator==(const Witness&) const = default;
};

enum class StopReason : std::uint8_t { converged, limit, interrupted };
std::string_view to_string(StopReason reason);

// One hyperplane against the rest.
struct BinaryProblem {
  std::int64_t label = 0;  // of the positive side
  double bias = 0;
  Certificate certificate;
  Witness witness;
  std::uint64_t iterations = 0;
};

struct ClassWeight {
  std::int64_t label = 0;
  double factor = 1;
};

// What a run is to reach, for each of its problems: the first of these ends it. 0 = not asked.
struct Goals {
  double gap = 0;           // (primal - bound)/primal
  double gap_absolute = 0;  // primal - bound
  double gap_per_row = 0;   // (primal - bound)/(C rows)
  double target = 0;        // primal

  bool any() const { return gap > 0 || any_other(); }
  // Another one than the relative gap.
  bool any_other() const { return gap_absolute > 0 || gap_per_row > 0 || target > 0; }
};
// "a gap of 0.001, or a primal of 3"
std::string to_string(const Goals& goals);

// Which rows a step of Pegasos learns from: those inside the margin, y <w, x> < 1, as published; or
// only those predicted wrongly, y <w, x> <= 0, which makes it a perceptron that shrinks and takes
// its theorems away.
enum class Update : std::uint8_t { margin, mistake };
std::string_view to_string(Update update);

constexpr int kMaxLanes = 64;  // of dual descent, side by side (TrainOptions::lanes)

// Where the model comes from: enough for `verify` to state the problem again. The goals are what
// was asked for.
struct Origin : Goals {
  std::string solver;   // "auto:dual"
  std::string because;  // of auto: why that one, in words
  LossKind loss = LossKind::hinge;
  double epsilon = 0;                      // of a loss of regression
  double cost = 1;                         // C
  double bias_feature = 0;                 // value of the constant feature; 0 = no bias
  bool free_bias = false;                  // its weight is not regularised; the feature is 1
  std::vector<ClassWeight> class_weights;  // of the classes whose factor is not 1
  bool row_weights = false;                // trained with one factor a row
  Update update = Update::margin;          // of Pegasos, or of the stream
  std::uint64_t seed = 1;
  int lanes = 1;           // of dual descent, side by side in one process
  std::uint64_t rows = 0;  // 0: not known, the model comes from another program
  std::uint64_t nonzeros = 0;
  Precision precision = Precision::f32;  // the precision of the values the certificate speaks of
  std::string fingerprint;               // of rows, labels and weights, in order
  StopReason status = StopReason::converged;
};

// Rows of numbers that are alike in most columns: what most rows have there, and the others.
struct SharedRows {
  std::vector<double> common;       // one a column
  std::vector<std::uint64_t> ends;  // column j has entries ends[j-1], or 0, to ends[j] - 1
  std::vector<std::uint32_t> rows;  // of an entry, ascending within a column
  std::vector<double> values;       // and what that row has there

  bool operator==(const SharedRows&) const = default;
};

// What a model learned online carries besides, so that the stream goes on exactly where it ended
// (hinge/stream.h). The weights follow from it: w = s v with s = 1/(lambda (t0 + rows)).
struct StreamState {
  double lambda = 0;
  std::uint64_t t0 = 0;
  std::uint64_t rows = 0;    // learned, a step each
  std::uint64_t lines = 0;   // of the input they came from
  double loss = 0;           // sum of the rows' losses, each before its update
  std::uint64_t errors = 0;  // rows predicted wrongly before their update
  double squares = 0;        // of regression: of what their scores missed, summed
  bool rest = true;          // labels come as they come: the last of the sums is that of no class;
                             // not of regression
  IndexBase index_base = IndexBase::one;  // as asked for; Model::index_base is what came of it
  std::vector<double> sums;               // v, Model::width() numbers a hyperplane
  std::vector<double> bias_sums;          // and of its constant feature
  // Where hyperplanes are many and alike: `sums`, which is then empty.
  std::optional<SharedRows> shared;
};

// A part of a model file that this version of hinge does not know and that changes no prediction:
// it is carried along, from a file that is read to those that are written.
struct ModelSection {
  struct Array {
    std::string name;
    std::string type;  // "U8", "U32", "I64", "U64", "F32" or "F64"
    std::vector<std::uint64_t> shape;
    std::string bytes;  // little-endian
    bool operator==(const Array&) const = default;
  };
  std::string name;           // 1 to 64 small letters, digits and _
  std::string content;        // UTF-8, JSON as a rule
  std::vector<Array> arrays;  // of a file: ascending by name
  bool operator==(const ModelSection&) const = default;
};

struct Model {
  std::vector<std::int64_t> labels;
  std::vector<BinaryProblem> problems;  // one for two labels or regression, else one a label
  std::uint64_t features = 0;
  // Which features the weights belong to, ascending, where those that occur are few among millions;
  // the others weigh 0. Empty: all.
  std::vector<std::uint32_t> columns;
  int index_base = 1;
  bool reject = false;          // several classes: a row without a positive score gets no class
  std::vector<double> weights;  // problems.size() rows of width(); none if shared()
  KernelFunction kernel;        // linear: none
  Dataset support;              // with a kernel: the support rows; `columns` is then empty
  Origin origin;
  std::optional<StreamState> stream;   // only of a model learned online, which may have one label
  ClassNames class_names;              // empty: classes are whole numbers
  std::vector<ModelSection> sections;  // of its file, that this version does not know

  std::uint64_t width() const {
    if (!kernel.linear()) return support.rows();
    return columns.empty() ? features : columns.size();
  }
  bool binary() const { return labels.size() == 2; }
  bool regression() const { return is_regression(origin.loss); }
  // The weights, too many to be written out, are only said by stream->shared (write_out).
  bool shared() const { return stream && stream->shared; }
  double norm() const;  // sqrt of the sum of the squares of all weights
  std::span<const double> weights_of(std::size_t problem) const {
    return std::span(weights).subspan(problem * width(), width());
  }
  // The hyperplanes whose class may win, ascending: those with a weight or a bias that is not 0, or
  // of which 0 is proved to be the best; all where there is none.
  std::vector<std::size_t> candidates() const;
  // Sums over the problems; relative_gap is the worst, bound "none" if any problem has none, else
  // "proved" if any is that, and nothing is known if anything is not.
  Certificate certificate() const;
};

// The same model with all its weights in `weights`, where it was shared(). Fails with memory.model
// where they would not fit into memory.
Result<Model> write_out(const Model& model);

struct Predictions {
  // model.class_names.text(label) is what people call it; in regression there are none
  std::vector<std::int64_t> labels;
  std::vector<std::uint8_t> rejected;  // 1 where no class was chosen; empty unless model.reject
  std::vector<double> scores;          // rows x problems, row by row
};

// How a prediction stands in a line of text: the number of the class, or its name; a name that has
// blanks, begins with a quote or is "none" stands in quotes, as in JSON.
std::string prediction_text(const ClassNames& names, std::int64_t label);

// Columns the model has never seen count as zero; but with an rbf kernel they make a row longer,
// and so farther from all others. Thread-safe; `threads` 0 = all cores. When `stop` becomes true it
// soon fails with run.interrupted.
Result<Predictions> predict(const Model& model, const Dataset& data, int threads = 0,
                            const std::atomic<bool>* stop = nullptr);

// The same for rows in arrays of the caller that are no data set yet: they are checked just before
// they are used, which is faster than Dataset::wrap() and predict(). Fails with data.matrix where
// offsets do not ascend or a column is out of range, and with solver.nonfinite where a score is not
// finite: as it is if a value is not. Columns need not ascend, and one that a row has twice counts
// twice; but with a kernel, or Model::columns, that fails with data.matrix, too.
Result<Predictions> predict(const Model& model, const Dataset::View& rows, int threads = 0,
                            const std::atomic<bool>* stop = nullptr);

// Whether scores say how likely a class is: of a model of the logistic loss, ours or LIBLINEAR's.
bool has_probabilities(const Model& model);

// How likely each label is, rows x labels in the order of model.labels: 1/(1 + e^-score), and of
// two labels what that leaves for the second; of several the same of each against the rest, divided
// by their sum. Fails with usage.value where there are none.
Result<std::vector<double>> probabilities(const Model& model, const Predictions& predictions);

// native: a safetensors file that holds everything. liblinear: LIBLINEAR's text, which holds
// labels, weights and bias, and no proof; numbers come back bit for bit. docs/formats.md has both,
// and a table of what the latter folds in, leaves out and refuses.
enum class ModelFormat : std::uint8_t { native, liblinear };

// Whether save_model could write this: model.format if not. Weights are not looked at, so it can be
// asked before training.
Result<void> check_format(const Model& model, ModelFormat format);

// Written atomically; the same model gives the same bytes.
Result<void> save_model(const Model& model, const std::string& path,
                        ModelFormat format = ModelFormat::native);

// The bytes of the native file that save_model() would write, for whoever keeps models elsewhere
// than in files; and back, as strictly as load_model(), with the same ids and no file named.
Result<std::string> model_to_bytes(const Model& model);
Result<Model> model_from_bytes(std::string_view bytes);

// Models of one training with several costs (train_path), in one native file: what they have in
// common is written once. They must be of the same rows and options but for the cost, linear, have
// the same sections, and ascend by cost; model.format if not. A single model is written as by
// save_model.
Result<void> save_models(std::span<const Model> models, const std::string& path);

// Either format, told apart by the first bytes. Reading is strict: any damage the format can show
// is refused with a model.* id before memory is taken; so is a section that changes predictions and
// that this version does not know (model.section). What LIBLINEAR's text does not say has its
// default in the model: origin.rows is 0, the bound is "none", and verify() refuses it.
//
// Of a file with several models `cost` says which: the nearest within one part in a million. Fails
// with model.path where there is none of that cost, or several and no cost is given. `stop` is
// asked while a pipe has nothing to say (run.interrupted).
Result<Model> load_model(const std::string& path, std::optional<double> cost = {},
                         const std::atomic<bool>* stop = nullptr);

// All models of a file, by ascending cost: one, unless save_models wrote more.
Result<std::vector<Model>> load_models(const std::string& path,
                                       const std::atomic<bool>* stop = nullptr);

// Whether the file at `path` begins like a model of either format rather than like data.
bool looks_like_model(const std::string& path);

}  // namespace hinge
