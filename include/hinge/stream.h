// Learning online: one row at a time, each predicted before it is learned, and never kept.
//
//   auto stream = hinge::Stream::create({.lambda = 1e-4});
//   auto reader = hinge::RowReader::open("-", {.index_base = hinge::IndexBase::one});
//   hinge::RowBlock block;
//   std::vector<hinge::StreamPrediction> predictions;
//   while (reader->next(block).value()) stream->learn_batch(block.rows, predictions);
//   auto saved = hinge::save_model(stream->snapshot().value(), "clicks.model");
//
// A row x of sign y is a step of Pegasos (tau = t0 + 1, t0 + 2, ...; c the factor of its class):
//
//   w <- (1 - 1/tau) w + a c y x / (lambda tau),     a = [y <w, x> < 1] with the hinge
//
// (with Update::mistake [y <w, x> <= 0]) for two classes, or for each class against the rest. With
// any other loss a is -l'(z) at the new w, so that no step goes too far: with the squared hinge
// 2 max(0, 1 - y <w, x>). A step costs the nonzeros of the row.
// What comes out is what `train` finds with Pegasos, rows in order, the last point: but nobody
// needs to know beforehand how many rows, columns or classes there will be.
//
// Classes come as they come, and when does not matter: the model is, bit for bit, that of a stream
// which knew all labels from the start. For that one more hyperplane is kept, that of the class
// nobody has; a new class begins as its copy. A column takes memory once it has occurred, whatever
// its number; and of many classes only sums that are not those of the class nobody has do. The same
// rows give the same bits on any instruction set.
//
// With a loss of regression rows have targets: y = 1, there is one hyperplane, and its score is the
// prediction.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/model.h"
#include "hinge/options.h"
#include "hinge/result.h"

namespace hinge {

struct StreamOptions {
  double lambda = 0;     // must be given: > 0; lambda (t0 + 2^53) is finite
  double bias = 0;       // value of a constant, regularised feature, up to kMaxBias; 0 = none
  std::uint64_t t0 = 0;  // the first step has the size of step t0 + 1; below 2^53
  LossKind loss = LossKind::hinge;
  double epsilon = 0.1;  // of a loss of regression: by so much scores may miss at no cost; >= 0
  Update update = Update::margin;               // which rows are learned from
  std::vector<ClassWeight> class_weights = {};  // factor > 0 on the steps of rows of that class
  // The only labels there are, at least two: others are refused (data.label.unknown), and no
  // hyperplane is kept for classes to come. Empty: as they come.
  std::vector<std::int64_t> labels = {};
  bool reject = false;  // three or more classes: a row without a positive score gets no class
  // zero, one: columns count from 0, as in every Dataset, and this is what column 0 is called in
  // text. automatic: columns are the very numbers of the text; the model counts from 1 unless a
  // number 0 has occurred.
  IndexBase index_base = IndexBase::one;
  Precision precision = Precision::f32;     // of the rows to come: only noted in the model
  std::uint64_t max_classes = kMaxClasses;  // one more is refused (limit.classes)
  // Bytes that the sums and what saving them takes may have; a row that needs more is refused
  // (memory.limit). 0: nine tenths of what the machine has, or ulimit -v allows
  // (memory.model).
  std::uint64_t memory = 0;
  InstructionSet instruction_set = InstructionSet::automatic;  // never changes the result
};

// What the hyperplanes said of a row before they learned it.
struct StreamPrediction {
  bool none = true;        // no label was known yet, or `reject` found no positive score
  std::int64_t label = 0;  // unless none; 0 in regression
  // Two classes: that of the hyperplane, > 0 for the larger label. Else that of the class with the
  // largest; 0 before there is one. In regression it is the prediction.
  double score = 0;
};

// Progressive validation: every row is judged before it is learned, so the figures are as honest as
// those on rows held back.
struct StreamFigures {
  std::uint64_t rows = 0;    // learned
  std::uint64_t lines = 0;   // of the input, as set_lines() said
  std::uint64_t errors = 0;  // predicted wrongly; so is every row whose label was not known yet
  double squares = 0;        // in regression, which has no errors: of score - target, summed
  // Sum over the rows of their losses, max(0, 1 - y <w, x>) with the hinge: of the one hyperplane
  // of two classes, of all classes known by then, the row's own included, if there are more. The
  // first row has that of a margin of 0.
  double loss = 0;
};

// Calls that learn must not overlap any other call on the same object; const calls may overlap each
// other.
class Stream {
 public:
  static Result<Stream> create(const StreamOptions& options);

  // Goes on exactly where the model ended: learning the rest of the rows gives the bytes that one
  // stream over all of them would have given. Of `options` only max_classes, memory and
  // instruction_set count; the model says the rest. Fails with model.stream if no stream made the
  // model.
  static Result<Stream> resume(const Model& model, const StreamOptions& options = {});

  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  // Predicts the row, judges the prediction, learns the row. Columns ascend; values are finite. A
  // row that fails (data.matrix, data.label.unknown, limit.classes, memory.*; solver.nonfinite if
  // its score or the sum of the losses is not finite) changes no figure, class or weight; at most
  // it leaves memory for its columns behind.
  // In regression the label is taken as a target.
  Result<StreamPrediction> learn_one(std::span<const std::uint32_t> columns,
                                     std::span<const double> values, std::int64_t label);
  // Does the same with a target that is any finite number (data.label.nonfinite); only a stream of
  // regression takes them (usage.value).
  Result<StreamPrediction> learn_target(std::span<const std::uint32_t> columns,
                                        std::span<const double> values, double target);

  struct Range {
    std::uint64_t first = 0;
    std::uint64_t count = UINT64_MAX;         // at most
    const std::atomic<bool>* stop = nullptr;  // true: end after the present row
  };

  // The same for rows `first`, `first` + 1, ... of a data set, whose weights, if any, multiply the
  // factors. Appends one prediction a row learned, also if it then fails at the next one. Labels
  // are whole numbers, in regression also real targets (data.label.kind).
  Result<void> learn_batch(const Dataset& rows, std::vector<StreamPrediction>& predictions,
                           const Range& range);
  Result<void> learn_batch(const Dataset& rows, std::vector<StreamPrediction>& predictions) {
    return learn_batch(rows, predictions, {});
  }

  // One a row, without learning. Columns that never occurred count as zero.
  Result<std::vector<StreamPrediction>> predict(const Dataset& rows) const;

  // The model as of now. Besides the weights it has the sums they come from, so it takes twice the
  // memory of the stream. Fails with data.empty before the first row.
  Result<Model> snapshot() const;

  // What save_model(snapshot(), path) does, in memory that was set aside before the rows were
  // learned: it does not fail because there is no more, even if a row just did.
  Result<void> save(const std::string& path);

  StreamFigures figures() const;
  std::vector<std::int64_t> labels() const;  // known, ascending
  // How many lines of the input are done; kept in the model for whoever goes on.
  void set_lines(std::uint64_t lines);

 private:
  class State;
  explicit Stream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Some rows of a text.
struct RowBlock {
  Dataset rows;
  std::vector<std::uint64_t> lines;  // where each row stands, from 1
};

// Reads libsvm text, plain or compressed, as it arrives: a row is there as soon as its line is,
// however long the pipe is silent after it. Takes the memory of a few hundred KB of text, or of the
// longest line.
class RowReader {
 public:
  // With options.real_labels all labels are targets. `source` is a file or "-"; of a file that
  // other programs append to, what it holds now. With IndexBase::automatic columns are the numbers
  // of the text. Of the options memory, cache, weights_file, threads and progress do not count. The
  // first `skip_lines` lines are passed over unread; if there are not so many, next() fails with
  // data.lines.
  static Result<RowReader> open(const std::string& source, const ReadOptions& options = {},
                                std::uint64_t skip_lines = 0);
  ~RowReader();
  RowReader(RowReader&&) noexcept;
  RowReader& operator=(RowReader&&) noexcept;

  // Waits for rows and puts them in place of those in `block`; false at the end. Without
  // options.on_bad_row a bad row is an error once the rows before it have been handed out, and ends
  // the reading. What was decompressed before a damage is handed out before the damage is told.
  Result<bool> next(RowBlock& block);

  std::uint64_t lines() const;          // read so far, or passed over
  std::vector<Error> warnings() const;  // what was odd but usable, one entry a kind
 private:
  class State;
  explicit RowReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hinge
