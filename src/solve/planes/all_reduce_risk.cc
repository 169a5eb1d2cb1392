// The risk of all rows from that of each rank's own. Points and planes are the same everywhere
// (RiskOptions::comm), so a number is summed and that is all; but for the line search, which takes
// some rounds (line_search.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "solve/planes/risk.h"

namespace hinge {
namespace {

class AllReduceRisk final : public Risk {
 public:
  AllReduceRisk(std::unique_ptr<Risk> local, double doubt, Comm& comm)
      : local_(std::move(local)),
        doubt_(doubt),
        comm_(comm),
        rows_(comm.sum(local_->rows())),
        active_(rows_) {}

  double begin(std::span<const double> w) override {
    active_ = rows_;
    return comm_.sum(local_->begin(w));
  }
  void set_trial(std::span<const double> beta) override { local_->set_trial(beta); }
  Segment segment() const override { return local_->segment(); }
  double value(double t) override { return std::max(0.0, comm_.sum(local_->value(t))); }
  double search(double a, double b, double t_max) override {
    return minimum_on_ranks(
        {.a = a, .b = b, .t_max = t_max, .doubt = doubt_}, local_->slope_steps(t_max),
        [this](std::size_t bucket) { return local_->breakpoints_in(bucket); }, comm_);
  }
  SlopeSteps slope_steps(double t_max) override {
    SlopeSteps steps = local_->slope_steps(t_max);
    comm_.sum(steps.values);
    return steps;
  }
  std::vector<Breakpoint> breakpoints_in(std::size_t bucket) override {
    return local_->breakpoints_in(bucket);
  }
  void advance(double t) override { local_->advance(t); }
  std::vector<double> anchor() override { return local_->anchor(); }

  double plane(std::size_t slot, double t) override { return comm_.sum(local_->plane(slot, t)); }
  double plane_of(std::size_t slot, std::span<const double> statuses) override {
    return comm_.sum(local_->plane_of(slot, statuses));
  }
  void merge(std::size_t into, std::size_t from, double u, double v) override {
    local_->merge(into, from, u, v);
  }
  void drop(std::size_t slot) override { local_->drop(slot); }
  void grow(std::size_t slots) override { local_->grow(slots); }
  std::span<const double> gram() const override { return local_->gram(); }
  std::vector<double> statuses(std::span<const double> beta) override {
    return local_->statuses(beta);
  }
  double rebuild() override { return std::max(0.0, comm_.sum(local_->rebuild())); }
  ExactValues exact(std::span<const double> beta) override {
    ExactValues values = local_->exact(beta);
    double sums[] = {values.risk, values.b};
    comm_.sum(sums);
    values.risk = sums[0];
    values.b = sums[1];
    return values;
  }

  bool by_rows() const override { return local_->by_rows(); }
  bool narrows_well() const override { return local_->narrows_well(); }
  std::uint64_t keep_near(double moved, double radius) override {
    return active_ = comm_.sum(local_->keep_near(moved, radius));
  }
  void mark() override { local_->mark(); }
  double moved() override {
    const double mean = local_->moved();
    const double sum = comm_.sum(mean * mean * static_cast<double>(local_->rows()));
    return std::sqrt(sum / static_cast<double>(std::max<std::uint64_t>(1, rows_)));
  }
  // Between the least and the most that a rank would say of its own rows; then by counting.
  double width_of(double share) const override {
    constexpr std::size_t kWidths = 8;
    constexpr double kNear = 0.01;  // of the width: near enough for what it is good for
    const double own = local_->width_of(share);
    const bool any = local_->rows() > 0;
    double low = -comm_.max(any ? -own : -std::numeric_limits<double>::max()),
           high = comm_.max(any ? own : 0.0);
    while (high - low > kNear * high) {
      double widths[kWidths], counts[kWidths];
      for (std::size_t k = 0; k < kWidths; ++k) {
        widths[k] = low + (high - low) * static_cast<double>(k + 1) / (kWidths + 1);
      }
      near(widths, counts);
      const double wanted = share * static_cast<double>(rows_);
      const auto enough = static_cast<std::size_t>(
          std::ranges::find_if(counts, [&](double c) { return c >= wanted; }) - counts);
      if (enough > 0) low = widths[enough - 1];
      if (enough < kWidths) high = widths[enough];
    }
    return high;
  }
  void near(std::span<const double> widths, std::span<double> counts) const override {
    local_->near(widths, counts);
    comm_.sum(counts);
  }
  std::uint64_t narrow(double width) override {
    const std::uint64_t found = comm_.sum(local_->narrow(width));
    if (found > 0) active_ = found;
    return found;
  }
  void widen() override {
    local_->widen();
    active_ = rows_;
  }
  std::uint64_t active() const override { return active_; }
  std::uint64_t rows() const override { return rows_; }
  RiskCounts counts() const override { return local_->counts(); }

  void archive(Archive& archive, const std::vector<bool>& taken) override {
    archive(active_);
    local_->archive(archive, taken);
  }

 private:
  const std::unique_ptr<Risk> local_;
  const double doubt_;
  Comm& comm_;
  const std::uint64_t rows_;
  std::uint64_t active_;
};

}  // namespace

std::unique_ptr<Risk> make_all_reduce_risk(const Problem& problem, RiskOptions options, Pool& pool,
                                           Comm& comm, MakeRisk local) {
  options.comm = &comm;
  return std::make_unique<AllReduceRisk>(local(problem, options, pool), options.search_doubt, comm);
}

}  // namespace hinge
