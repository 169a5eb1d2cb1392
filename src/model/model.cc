#include "hinge/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/pool.h"
#include "data/columns.h"
#include "data/dataset_builder.h"
#include "data/survey.h"
#include "hinge/json.h"
#include "model/shared_planes.h"
#include "model/stream_model.h"
#include "proof/certificate.h"
#include "proof/outward.h"
#include "simd/kernel_block.h"

namespace hinge {
namespace {

// A row cut off where the model's features end: columns ascend, so the rest is a tail.
template <class Value>
SparseRow<Value> known_part(SparseRow<Value> row, std::uint64_t features) {
  if (row.size > 0 && row.columns[row.size - 1] >= features) {
    row.size = static_cast<std::size_t>(
        std::lower_bound(row.columns, row.columns + row.size, features) - row.columns);
  }
  return row;
}

// Rows cut into runs as long as each other: with a kernel every row takes about as long.
std::vector<std::uint64_t> even_cuts(std::uint64_t rows) {
  constexpr std::uint64_t kRows = 128;
  std::vector<std::uint64_t> cuts = {0};
  while (cuts.back() < rows) cuts.push_back(std::min(rows, cuts.back() + kRows));
  return cuts;
}

// Scores of rows without the biases: begin .. end - 1, row by row into out.
template <class Value>
void linear_scores(const Model& model, const RowRun<Value>& rows, double* out) {
  // With several hyperplanes so many at a time that they stay in the nearest cache for all of them.
  constexpr std::uint64_t kNonzeros = 2048;
  const CsrView<Value>& m = rows.m;
  const std::size_t problems = model.problems.size();
  const Simd& simd = best_simd();
  for (std::uint64_t from = rows.begin, to; from < rows.end; from = to) {
    to = problems == 1 ? rows.end : from + 1;
    while (to < rows.end && m.offsets[to + 1] - m.offsets[from] <= kNonzeros) ++to;
    for (std::size_t k = 0; k < problems; ++k) {
      double* const first = out + (from - rows.begin) * problems + k;
      if (!simd.dot_rows(RowRun<Value>{m, from, to}, model.weights_of(k), first, problems)) {
        fail("data.matrix", fmt::format("a column in rows {} to {} is out of range", from, to - 1));
      }
    }
  }
}

// The same with a kernel: a few rows at a time meet a few hundred support rows at a time, whose
// coefficients lie interleaved.
class KernelScorer {
 public:
  // Columns that no support row has count in the length of a row alone.
  KernelScorer(const Model& model, const Dataset& rows, Pool& pool)
      : model_(model),
        rows_(rows),
        support_(model.support),
        common_(rows),
        stride_(stride_of(model.problems.size())),
        coefficients_(model.width() * stride_),
        numbers_(kSupport) {
    if (are_sparse(support_.nonzeros(), model.features, kMostRows)) {
      columns_ = occurring_columns(support_, pool);
      support_ = keep_columns(support_, columns_, pool);
      common_ = keep_columns(rows, columns_, pool);
    }
    support_.visit([&](const auto& m) {
      for (std::uint64_t j = 0; j < m.rows; ++j) squares_.push_back(square_of(row_of(m, j)));
    });
    differences_ = needs_differences(
        model.kernel, std::accumulate(squares_.begin(), squares_.end(), 0.0,
                                      [](double a, double b) { return std::max(a, b); }));
    for (std::size_t k = 0; k < model.problems.size(); ++k) {
      for (std::size_t j = 0; j < model.width(); ++j) {
        coefficients_[j * stride_ + k] = model.weights_of(k)[j];
      }
    }
    std::iota(numbers_.begin(), numbers_.end(), 0U);
  }

  void scores(std::uint64_t begin, std::uint64_t end, double* out) const {
    const std::size_t problems = model_.problems.size();
    const Simd& simd = best_simd();
    KernelBlock block(model_.kernel, support_.features(), differences_, simd);
    std::vector<double> values(block.capacity() * kSupport), part(stride_);
    std::fill_n(out, (end - begin) * problems, 0.0);
    for (std::uint64_t i = begin; i < end; i += block.capacity()) {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(block.capacity(), end - i));
      load(block, i, count);
      for (std::size_t from = 0; from < model_.width(); from += kSupport) {
        const std::size_t size = std::min<std::size_t>(kSupport, model_.width() - from);
        support_.visit([&](const auto& s) {
          block.evaluate(
              0, size, [&](std::size_t j) { return row_of(s, from + j); }, squares_.data() + from,
              0.0, values.data(), kSupport);
        });
        for (std::size_t b = 0; b < count; ++b) {
          const SparseRow<double> row = {numbers_.data(), values.data() + b * kSupport, size};
          simd.dot_many(row, coefficients_.data() + from * stride_, stride_, part.data());
          double* const to = out + (i - begin + b) * problems;
          for (std::size_t k = 0; k < problems; ++k) to[k] += part[k];
        }
      }
    }
  }

 private:
  static constexpr std::size_t kSupport = 512, kMostRows = 16;

  // Of what `common_` leaves out.
  template <class Value>
  double square_outside(const SparseRow<Value>& row) const {
    double sum = 0;
    for (std::size_t k = 0; k < row.size; ++k) {
      const std::uint32_t column = row.columns[k];
      const bool common = columns_.empty() ? column < support_.features()
                                           : std::ranges::binary_search(columns_, column);
      const auto value = static_cast<double>(row.values[k]);
      if (!common) sum += value * value;
    }
    return sum;
  }

  void load(KernelBlock& block, std::uint64_t i, std::size_t count) const {
    rows_.visit([&](const auto& all) {
      common_.visit([&](const auto& m) {
        block.load(
            count, [&](std::size_t b) { return known_part(row_of(m, i + b), support_.features()); },
            [&](std::size_t b) {
              const auto row = row_of(all, i + b);
              return differences_ ? square_outside(row) : square_of(row);
            });
      });
    });
  }

  const Model& model_;
  const Dataset& rows_;
  Dataset support_, common_;            // support rows, and the rows, in the columns of the former
  std::vector<std::uint32_t> columns_;  // these; empty: all below support_.features()
  bool differences_ = false;
  std::size_t stride_;
  std::vector<double> coefficients_;    // of support row j and problem k at j * stride + k
  std::vector<std::uint32_t> numbers_;  // 0, 1, 2, ...
  std::vector<double> squares_;         // |x|^2 of the support rows
};

// The same for a model whose weights are shared: plane 0 is what most have, k + 1 that of problem
// k.
class SharedScorer {
 public:
  explicit SharedScorer(const Model& model) : planes_(model.problems.size() + 1) {
    const SharedRows& shared = *model.stream->shared;
    const double s = stream_scale(model);
    std::vector<std::uint32_t> planes;
    std::vector<double> weights;
    for (std::size_t j = 0, k = 0; j < shared.common.size(); ++j) {
      planes.clear();
      weights.clear();
      for (; k < shared.ends[j]; ++k) {
        if (shared.rows[k] >= model.problems.size()) continue;  // the rest
        planes.push_back(shared.rows[k] + 1);
        weights.push_back(s * shared.values[k]);
      }
      planes_.add_column(s * shared.common[j], planes, weights);
    }
  }

  // The bits are those of linear_scores(): the weights a row meets are put side by side, and taken
  // by the same kernel.
  template <class Value>
  void scores(const RowRun<Value>& rows, double* out) const {
    constexpr std::size_t kBlock = SharedPlanes::kBlock;
    const Simd& simd = best_simd();
    const std::size_t problems = planes_.planes() - 1;
    std::vector<std::uint32_t> places;
    std::vector<double> common, own;
    std::vector<std::size_t> next;  // of each column, the first block not yet met
    for (std::uint64_t i = rows.begin; i < rows.end; ++i, out += problems) {
      const SparseRow<Value> row = known_part(row_of(rows.m, i), planes_.columns());
      while (places.size() < row.size) places.push_back(static_cast<std::uint32_t>(places.size()));
      const SparseRow<Value> packed = {places.data(), row.values, row.size};
      common.resize(row.size);
      own.resize(kBlock * row.size);
      next.assign(row.size, 0);
      for (std::size_t k = 0; k < row.size; ++k) common[k] = planes_.common(row.columns[k]);
      std::fill_n(out, problems, simd.dot(packed, common.data()));
      for (const std::uint32_t number : planes_.blocks_of({row.columns, row.size})) {
        for (std::size_t k = 0; k < row.size; ++k) {
          const std::span<const SharedPlanes::Block> blocks = planes_.own(row.columns[k]);
          const bool here = next[k] < blocks.size() && blocks[next[k]].number == number;
          for (std::size_t c = 0; c < kBlock; ++c) {
            own[c * row.size + k] = here ? blocks[next[k]].values[c] : common[k];
          }
          next[k] += here;
        }
        for (std::size_t c = 0; c < kBlock; ++c) {
          const std::size_t plane = number * kBlock + c;
          if (plane == 0 || plane > problems) continue;
          out[plane - 1] = simd.dot(packed, own.data() + c * row.size);
        }
      }
    }
  }

 private:
  SharedPlanes planes_;
};

struct Scoring {
  const KernelScorer* scorer = nullptr;  // of a model with a kernel
  const SharedScorer* shared = nullptr;  // of one whose weights are
  bool check = false;                    // nobody has looked at columns and values yet
};

Predictions scores_of(const Model& model, const Dataset::View& view, const Scoring& how,
                      Pool& pool) {
  const std::size_t problems = model.problems.size();
  const bool reject = model.reject && model.labels.size() > 2;
  const std::uint64_t rows = std::visit([](const auto& m) { return m.rows; }, view);
  const std::uint64_t features = std::visit([](const auto& m) { return m.features; }, view);
  Predictions out;
  out.labels.resize(model.regression() ? 0 : rows);
  out.scores.resize(rows * problems);
  if (reject) out.rejected.resize(rows);
  const std::vector<std::size_t> candidates = model.candidates();
  const std::vector<std::uint64_t> cuts = how.scorer != nullptr ? even_cuts(rows) : cut_rows(view);
  pool.run(cuts.size() - 1, [&](std::size_t block) {
    const std::uint64_t begin = cuts[block], end = cuts[block + 1];
    double* scores = out.scores.data() + begin * problems;
    // In columns the model knows a value that is not finite shows in the score, whatever it is
    // multiplied by.
    if (how.check && features > model.width()) check_values(view, begin, end);
    if (how.scorer != nullptr) {
      how.scorer->scores(begin, end, scores);
    } else {
      std::visit(
          [&]<class Value>(const CsrView<Value>& m) {
            const RowRun<Value> run = {m, begin, end};
            how.shared != nullptr ? how.shared->scores(run, scores)
                                  : linear_scores(model, run, scores);
          },
          view);
    }
    for (std::uint64_t i = begin; i < end; ++i, scores += problems) {
      for (std::size_t k = 0; k < problems; ++k) scores[k] += model.problems[k].bias;
      if (!std::all_of(scores, scores + problems, [](double s) { return std::isfinite(s); })) {
        fail("solver.nonfinite", fmt::format("the score of row {} is not finite", i + 1),
             "scale the data as it was scaled for training");
      }
      if (model.regression()) continue;
      const std::size_t best =
          *std::ranges::max_element(candidates, {}, [scores](std::size_t k) { return scores[k]; });
      out.labels[i] = model.binary() ? model.labels[scores[0] > 0 ? 0 : 1] : model.labels[best];
      if (reject) out.rejected[i] = scores[best] > 0 ? 0 : 1;
    }
  });
  return out;
}

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::limit:
      return "limit";
    case StopReason::interrupted:
      return "interrupted";
  }
  return "limit";
}

std::string_view to_string(KernelKind kind) {
  constexpr std::string_view kNames[] = {"linear", "rbf", "poly", "sigmoid"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Update update) {
  return update == Update::mistake ? "mistake" : "margin";
}

std::string to_string(const Goals& goals) {
  std::string text;
  const auto add = [&](double goal, std::string_view before, int digits,
                       std::string_view after = "") {
    if (!(goal > 0)) return;
    text += fmt::format("{}{}{:.{}g}{}", text.empty() ? "" : ", or ", before, goal, digits, after);
  };
  add(goals.gap, "a gap of ", 3);
  add(goals.gap_absolute, "a primal within ", 3, " of the bound");
  add(goals.gap_per_row, "a primal within ", 3, " C rows of the bound");
  add(goals.target, "a primal of ", 8);
  return text;
}

std::vector<std::size_t> Model::candidates() const {
  constexpr double kProved = 1e-3;  // where no gap was asked for
  const double gap = origin.gap > 0 ? origin.gap : kProved;
  const double left = absolute_goal(origin);
  const auto counts = [](double weight) { return weight != 0; };
  const std::vector<bool> weighted = shared() ? have_weights(*this) : std::vector<bool>();
  const auto has_weight = [&](std::size_t k) {
    return shared() ? weighted[k] : std::ranges::any_of(weights_of(k), counts);
  };
  std::vector<std::size_t> all(problems.size()), learned;
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::ranges::copy_if(all, std::back_inserter(learned), [&](std::size_t k) {
    const Certificate& proof = problems[k].certificate;
    const bool near = proof.relative_gap <= gap || proof.primal - proof.dual <= left;
    return counts(problems[k].bias) || has_weight(k) ||
           (proof.bounded() && near);  // 0 is what there was to learn
  });
  return learned.empty() ? all : learned;
}

Certificate Model::certificate() const {
  Certificate sum;
  sum.relative_gap = 0;
  sum.bound = "witness";
  for (const BinaryProblem& problem : problems) {
    sum.primal =
        sum.primal == 0 ? problem.certificate.primal : up(sum.primal + problem.certificate.primal);
    sum.dual = sum.dual == 0 ? problem.certificate.dual : down(sum.dual + problem.certificate.dual);
    sum.relative_gap = std::max(sum.relative_gap, problem.certificate.relative_gap);
    if (!problem.certificate.known()) return {.bound = "unknown"};
    const std::string& bound = problem.certificate.bound;
    if (bound == "none" || (bound == "proved" && sum.bound == "witness")) sum.bound = bound;
  }
  return sum;
}

std::string prediction_text(const ClassNames& names, std::int64_t label) {
  std::string text = names.text(label);
  const bool plain = text.find(' ') == std::string::npos && text[0] != '"' && text != "none";
  return plain ? text : Json(text).dump();
}

Result<Predictions> predict(const Model& model, const Dataset& rows, int threads,
                            const std::atomic<bool>* stop) {
  return guard([&] {
    const StopToken token(stop);
    Pool pool(threads, &token);
    const Dataset data = model.columns.empty() ? rows : keep_columns(rows, model.columns, pool);
    std::optional<KernelScorer> scorer;
    if (!model.kernel.linear()) scorer.emplace(model, data, pool);
    std::optional<SharedScorer> shared;
    if (model.shared()) shared.emplace(model);
    return scores_of(model, data.view(),
                     {.scorer = scorer ? &*scorer : nullptr, .shared = shared ? &*shared : nullptr},
                     pool);
  });
}

Result<Predictions> predict(const Model& model, const Dataset::View& rows, int threads,
                            const std::atomic<bool>* stop) {
  return guard([&] {
    check_offsets(rows);
    if (!model.columns.empty() || !model.kernel.linear()) {  // which takes longer than the check
      const std::vector<std::int64_t> labels(std::visit([](auto& m) { return m.rows; }, rows));
      const Dataset data =
          take(Dataset::wrap(rows, labels, {}, nullptr, {.threads = threads, .index_base = 0}));
      return take(predict(model, data, threads, stop));
    }
    // Full rows have one list of columns, the others theirs, which are left for when they are used.
    std::visit([&](const auto& m) { check_columns(rows, 0, m.full && m.rows > 0 ? 1 : 0); }, rows);
    const StopToken token(stop);
    Pool pool(threads, &token);
    return scores_of(model, rows, {.check = true}, pool);
  });
}

}  // namespace hinge
