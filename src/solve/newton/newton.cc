// Map: Newton::work is the way from samples of the rows (climb) to all of them (work_on_all) to
// those near the margin (work_near); iterate() takes steps on a part; newton/part.h says what a
// step is.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/archive.h"
#include "base/error.h"
#include "base/random.h"
#include "objective/free_bias.h"
#include "objective/line_search.h"
#include "solve/newton/newton_run.h"
#include "solve/newton/part.h"
#include "solve/newton/sample.h"
#include "solve/newton/smooth_newton.h"
#include "solve/solver.h"

namespace hinge {
namespace {

template <class Value, class Loss>
class Newton : NewtonRun {
  using Tuning = NewtonTuning;

 public:
  using Part = NewtonPart<Value, Loss>;

  Newton(const Problem& problem, const CsrView<Value>& m, const SolverOptions& options,
         Monitor& monitor, Pool& pool)
      : NewtonRun(problem, m.rows, monitor, pool),
        problem_(problem),
        m_(m),
        options_(options),
        simd_(*options.simd),
        joined_(m.rows) {}

  Solution run() {
    try {
      work();
    } catch (const Interrupted&) {
      monitor_.interrupt();
      if (whole_) {
        look_once_more(*whole_, [this] {
          whole_->measure_margins();
          std::ranges::fill(whole_->direction(), 0.0);
          take_primal(Problem::primal(problem_.square(latest_w_), whole_->loss_at(0)));
        });
      }
    }
    if (!seen_start_ && !options_.start.empty() && options_.resume.empty()) {
      // Stopped before it was compared with anything.
      whole_.reset();
      best_w_ = options_.start[0].w;
      solution_.alpha = options_.start[0].alpha;
    }
    solution_.w = std::move(best_w_);
    if (whole_) {
      const Buffer<double> best = whole_->take_best();
      whole_.reset();  // memory
      system_.reset();
      solution_.alpha = huge_vector(m_.rows);
      for_all_rows([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
          solution_.alpha[i] = problem_.upper(i) * best[i];
        }
      });
      if (problem_.free_bias) balance(problem_, solution_.alpha);
    }
    solution_.alpha.resize(m_.rows);
    return std::move(solution_);
  }

  // The state between two rounds: the sum of F'' is rebuilt then.
  void archive(Archive& archive) {
    archive(monitor_);
    whole_->archive(archive);
    archive.sized(best_w_, problem_.dimension());
    archive.sized(joined_, m_.rows);
    archive(primal_, dual_, measured_, sharpen_, tried_, idle_, least_, narrow_,
            solution_.iterations, solution_.rows_touched);
    archive.require(sharpen_ > 1 && std::isfinite(sharpen_));
  }

 private:
  std::size_t blocks_of_all() const {
    return (m_.rows + Tuning::kRowsOfBlock - 1) / Tuning::kRowsOfBlock;
  }
  // f(block, begin, end) of blocks of all rows, to the end whatever signal comes.
  template <class F>
  void for_all_rows(const F& f) const {
    const Pool::Grace whole(pool_, Pool::Grace::kForever);
    constexpr std::uint64_t kRows = Tuning::kRowsOfBlock;
    pool_.run(blocks_of_all(), [&](std::size_t block) {
      f(block, block * kRows, std::min(m_.rows, (block + 1) * kRows));
    });
  }

  void work() {
    if (!std::isfinite(primal_)) {
      fail("solver.nonfinite", "the objective is not finite at w = 0",
           "scale the data, or lower --cost");
    }
    if (options_.resume.empty() && report()) return;  // at w = 0
    system_.emplace(problem_, simd_, pool_);
    NewtonSignedRows<Value> rows(NewtonRows<Value>(m_, simd_, pool_),
                                 {problem_.y.begin(), problem_.y.end()},
                                 {problem_.costs.begin(), problem_.costs.end()},
                                 {problem_.targets.begin(), problem_.targets.end()}, problem_);
    whole_.emplace(std::move(rows), problem_.cost, problem_, *system_, simd_, pool_,
                   solution_.rows_touched);
    whole_->best();
    if (options_.resume.empty()) {
      begin();
    } else {
      restore(*this, options_.resume);
    }
    while (!stopped_ && !report()) {
      monitor_.offer_state([this] { return state_of(*this); });
      if (stalled()) {
        solution_.stalled = true;
        return;
      }
      if (!narrow_ || !work_near()) work_on_all();
    }
  }

  // ---- The beginning: at a start, or by way of samples.
  void begin() {
    Part& part = *whole_;
    double half_width = part.scale() * Tuning::kFirstHalfWidth;
    bool centred = false;
    if (!options_.start.empty()) {
      const Start& start = options_.start[0];
      std::ranges::copy(start.w, part.w.begin());
      part.measure_margins();
      half_width = part.scale() * sample_half_width(m_.rows, problem_.dimension());
      centred = !start.alpha.empty();
      for (std::uint64_t i = 0; centred && i < m_.rows; ++i) {
        const double upper = problem_.upper(i);
        part.status[i] =
            upper > 0 ? std::clamp(start.alpha[i] / upper, Loss::kLowest, Loss::kHighest) : 0.0;
      }
      if (centred) {
        part.measure_sum();
        take_start();
        seen_start_ = true;
        part.recentre();
      }
    } else if (climb(half_width)) {
      part.measure_margins();
    }
    part.set_steepness(0.5 / half_width);
    if (!centred) part.begin_with(part.steepness);
    part.settle();
    take_values();
    seen_start_ = true;
  }

  // P and D of the start itself. (settle() will change the statuses.)
  void take_start() {
    Part& part = *whole_;
    take_dual(dual_at(part.w));
    std::ranges::fill(part.direction(), 0.0);
    take_primal(Problem::primal(problem_.square(part.w), part.loss_at(0)));
  }

  // Solves for ever larger samples: one row of each run of neighbours. True: there was one.
  bool climb(double& half_width) {
    const std::vector<std::uint64_t> sizes = sample_sizes(m_.rows, problem_.dimension());
    for (std::size_t level = sizes.size(); level-- > 0 && !stopped_;) {
      const std::uint64_t size = sizes[level];
      const std::vector<std::uint64_t> rows =
          sample_of_rows(m_.rows, size, Random(options_.seed, level));
      const double share = static_cast<double>(m_.rows) / static_cast<double>(size);
      Part part = part_of(rows, problem_.cost * share);
      part.w = whole_->w;
      if (level + 1 < sizes.size()) part.measure_margins();
      part.begin_with(0.5 / half_width);
      const auto solved = [&] {
        const double asked = monitor_.limits().gap_at(part.primal());
        return part.gap() <= sample_gap(size, problem_.dimension(), asked) * part.primal();
      };
      double sharpen = Tuning::kSharpen;
      iterate(part, sharpen, solved);
      whole_->w = part.w;
      half_width = whole_->scale() * sample_half_width(size, problem_.dimension());
    }
    return !sizes.empty();
  }

  Part part_of(std::span<const std::uint64_t> rows, double unit) {
    return Part(whole_->rows().part(rows, problem_, pool_), unit, problem_, *system_, simd_, pool_,
                solution_.rows_touched);
  }

  // ---- Steps.
  // Steps on a part of the rows until done() or there is no more to gain.
  template <class Done>
  void iterate(Part& part, double& sharpen, const Done& done) {
    double least = std::numeric_limits<double>::infinity();
    std::uint64_t tried = 0, idle = 0;
    while (idle < Tuning::kIdleOfPart) {
      const auto step = take_step(part, *system_);
      if (step == Part::Step::stopped) return;
      const bool moved = step == Part::Step::taken;
      if (done()) return;
      idle = part.gap() < Tuning::kProgress * least ? 0 : idle + 1;
      least = std::min(least, part.gap());
      next_centre(part, moved, tried, sharpen);
    }
  }

  // Sharpens the corners once F is minimised, or softens them where that takes too long. True: the
  // centres are others now.
  bool next_centre(Part& part, bool moved, std::uint64_t& tried, double& sharpen) {
    if (!moved || part.half_gradient() < Tuning::kSolvedShare * part.gap()) {
      if (tried >= Tuning::kManySteps) sharpen = Tuning::kSharpenLess;
      part.recentre();
      part.sharpen(sharpen);
    } else if (++tried < Tuning::kMostSteps) {
      return false;
    } else {
      part.steepness /= Tuning::kSoften;
      part.stale = true;
      sharpen = Tuning::kSharpenLess;
    }
    tried = 0;
    return true;
  }

  // Steps on all rows until the centres change.
  void work_on_all() {
    Part& part = *whole_;
    for (;;) {
      const auto step = take_step(part, *system_);
      if (step == Part::Step::stopped) return;
      const bool moved = step == Part::Step::taken;
      take_values();
      if (next_centre(part, moved, tried_, sharpen_)) break;
      if (report()) {
        stopped_ = true;
        return;
      }
    }
    narrow_ = relative_gap() < Tuning::kNarrowBelow;
  }

  // Solves for the rows near the margin, where all others stay as they are, and measures what that
  // is worth for all. False: too many are near.
  bool work_near() {
    Part& all = *whole_;
    const double near = Tuning::kNarrowHalfWidths * 0.5 / all.steepness * sharpen_;
    std::vector<std::vector<std::uint64_t>> parts(blocks_of_all());
    for_all_rows([&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        if (is_near_bend(all.z[i], near) || all.between(i) || joined_[i] != 0) {
          parts[block].push_back(i);
        }
      }
    });
    std::vector<std::uint64_t> rows;
    for (const auto& some : parts) rows.insert(rows.end(), some.begin(), some.end());
    if (static_cast<double>(rows.size()) > Tuning::kNarrowRows * static_cast<double>(m_.rows)) {
      return false;
    }
    Part part = part_of(rows, problem_.cost);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      part.z[k] = all.z[rows[k]];
      part.centre[k] = all.centre[rows[k]];
      part.status[k] = all.status[rows[k]];
    }
    part.w = all.w;
    part.v = all.v;
    part.steepness = all.steepness;
    if (problem_.free_bias) part.count_others();
    const double gap = primal_ - dual_;
    const double aim =
        std::max(Tuning::kNarrowAim * gap,
                 Tuning::kNarrowAimOfGap * monitor_.limits().gap_at(primal_) * primal_);
    iterate(part, sharpen_, [&] { return part.gap() <= aim; });
    return_from(part, rows);
    const double left = primal_ - dual_;
    idle_ += Tuning::kIdleOfNarrow;
    take_values();
    next_centre(all, true, tried_, sharpen_);
    narrow_ = left < Tuning::kNarrowGain * gap &&
              relative_gap() < Tuning::kNarrowAgainBelow * Tuning::kNarrowBelow;
    return true;
  }

  bool is_near_bend(double z, double near) const {
    const auto breakpoints = loss_.breakpoints();
    return std::ranges::any_of(breakpoints,
                               [&](double place) { return std::abs(place - z) <= near; });
  }

  // Takes over what a part of the rows came to, as far as the primal of all rows allows.
  void return_from(Part& part, std::span<const std::uint64_t> rows) {
    Part& all = *whole_;
    all.keep_best();
    std::vector<std::uint8_t> chosen(m_.rows);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      all.centre[rows[k]] = part.centre[k];
      all.status[rows[k]] = part.status[k];
      chosen[rows[k]] = 1;
    }
    all.v = part.v;
    all.steepness = part.steepness;
    take_dual(dual_at(part.w));
    std::vector<double> s(all.w.size());
    for (std::size_t j = 0; j < s.size(); ++j) s[j] = part.w[j] - all.w[j];
    const double before = all.primal();
    all.set_direction(s.data());
    double t = 1;
    if (Problem::primal(problem_.square(part.w), all.loss_at(1)) > before) {
      double inner = 0;
      for (std::size_t j = 0; j < problem_.regularised(); ++j) inner += all.w[j] * s[j];
      LineSearch search(problem_.square(s), inner);
      search.reserve(m_.rows);
      const std::span<const double> d = all.direction();
      for (std::uint64_t i = 0; i < m_.rows; ++i) {
        search.add_loss(loss_, problem_.upper(i), all.z[i], d[i]);
      }
      t = std::min(1.0, search.minimum());
    }
    for (std::size_t j = 0; j < s.size(); ++j) all.w[j] += t * s[j];
    all.advance(t);
    all.stale = true;
    for_all_rows([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        if (chosen[i] == 0 && all.status[i] != all.centre[i]) joined_[i] = 1;
      }
    });
  }

  // ---- What is known.
  // D of the statuses of all rows, less what the sum of a free bias' dual costs at w.
  double dual_at(const std::vector<double>& w) const {
    const Part& part = *whole_;
    std::vector<double> parts(blocks_of_all());
    for_all_rows([&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      double sum = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        const double upper = problem_.upper(i);
        const double alpha = upper * part.status[i];
        sum += loss_.dual_gain(alpha, upper);
        if constexpr (Loss::kRegression) sum += alpha * problem_.targets[i];
      }
      parts[block] = sum;
    });
    double gain = 0;
    for (const double some : parts) gain += some;
    const bool free = problem_.free_bias;
    return Problem::dual(problem_.square(part.v), gain, free ? part.v[m_.features] : 0.0,
                         free ? w[m_.features] : 0.0) -
           Tuning::kTrusted * gain;
  }

  void take_dual(double dual) {
    if (!(dual > dual_)) return;
    dual_ = dual;
    whole_->mark_best();
  }
  void take_primal(double primal) {
    if (!(primal < primal_)) return;  // nor if it is not finite
    primal_ = primal;
    std::copy_n(whole_->w.begin(), best_w_.size(), best_w_.begin());
  }

  // P and D where all rows are. Sums that steps keep up to date are trusted to a point, and
  // computed from the rows beyond it.
  void take_values() {
    Part& part = *whole_;
    double slack = Tuning::kTrusted * part.primal();
    // Nor where they are about to say that it is done, or where P has fallen far below what their
    // rounding was small beside.
    const double primal = std::min(primal_, part.primal());
    const double gap =
        std::max(Tuning::kFineGap * Tuning::kFineTimes, monitor_.limits().gap_at(primal));
    const bool fine =
        primal - std::max(dual_, part.dual()) < gap * primal || monitor_.limits().at_target(primal);
    if (!std::isfinite(measured_)) measured_ = part.primal();
    if (fine || part.primal() < Tuning::kFallen * measured_) {
      measured_ = part.primal();
      part.measure_margins();
      part.settle();
      part.measure_sum();
      slack = 0;
    }
    take_primal(part.primal());
    take_dual(part.dual() - slack);
    watch();
  }

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  const CsrView<Value>& m_;
  const SolverOptions& options_;
  const Simd& simd_;

  std::optional<NewtonSystem> system_;
  std::optional<Part> whole_;
  std::vector<std::uint8_t> joined_;  // rows found to matter although they were not chosen
  double sharpen_ = Tuning::kSharpen;
  std::uint64_t tried_ = 0;                                    // steps since the centres changed
  double measured_ = std::numeric_limits<double>::infinity();  // P when it was, from the rows
  bool narrow_ = false;
};

}  // namespace

Solution solve_newton(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                      Pool& pool) {
  return visit_loss(problem.loss, [&]<class Loss>(const Loss&) {
    if constexpr (Loss::kSmooth) {
      return solve_smoothly<Loss>(problem, options, monitor, pool);
    } else {
      return problem.data->visit([&]<class Value>(const CsrView<Value>& m) {
        return Newton<Value, Loss>(problem, m, options, monitor, pool).run();
      });
    }
  });
}

}  // namespace hinge
