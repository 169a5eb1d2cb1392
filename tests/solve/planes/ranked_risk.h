// A Risk of which every call is made by several ranks (threads) at once, each with some of the
// rows: so one made for ranks passes the contract of all risks. What the ranks say must be the same
// to the bit.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/columns.h"
#include "ranks/comm.h"
#include "solve/planes/risk.h"
#include "thread_transport.h"

namespace hinge::testing {

// Rows first .. last - 1 of a problem.
struct ProblemPart {
  ProblemPart(const Problem& whole, std::uint64_t first, std::uint64_t last)
      : data(rows_of(*whole.data, first, last)),
        y(whole.y.begin() + static_cast<std::ptrdiff_t>(first),
          whole.y.begin() + static_cast<std::ptrdiff_t>(last)) {
    problem = whole;
    problem.data = &data;
    problem.y = y;
    if (!whole.costs.empty()) problem.costs = whole.costs.subspan(first, last - first);
  }
  ProblemPart(const ProblemPart&) = delete;
  ProblemPart& operator=(const ProblemPart&) = delete;

  static Dataset rows_of(const Dataset& data, std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> rows;
    for (std::uint64_t i = first; i < last; ++i) rows.push_back(i);
    return keep_rows(data, rows);
  }

  Dataset data;
  std::vector<std::int8_t> y;
  Problem problem;
};

class RankedRisk final : public Risk {
 public:
  RankedRisk(const Problem& problem, const RiskOptions& options, Pool& pool, int ranks)
      : group_(ranks), parts_(static_cast<std::size_t>(ranks)) {
    // Uneven, and with more ranks than rows some have none.
    const std::uint64_t rows = problem.data->rows();
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const auto cut = [&](std::size_t r) {
        return rows * r * r / (parts_.size() * parts_.size());
      };
      parts_[k].first = cut(k);
      parts_[k].rows = std::make_unique<ProblemPart>(problem, cut(k), cut(k + 1));
    }
    const int threads = pool.threads();
    thread_ = std::thread([this, options, threads] {
      group_.run([&](Transport& transport) { serve(transport, options, threads); });
    });
    call([](Risk&, std::size_t) {});  // all are there
  }
  ~RankedRisk() override {
    call({});
    thread_.join();
  }
  RankedRisk(const RankedRisk&) = delete;
  RankedRisk& operator=(const RankedRisk&) = delete;

  double begin(std::span<const double> w) override {
    return same<double>([&](Risk& r) { return r.begin(w); });
  }
  void set_trial(std::span<const double> beta) override {
    call([&](Risk& r, std::size_t) { r.set_trial(beta); });
  }
  Segment segment() const override {
    Segment s;
    s.anchor_square = same<double>([](Risk& r) { return r.segment().anchor_square; });
    s.product = same<double>([](Risk& r) { return r.segment().product; });
    s.trial_square = same<double>([](Risk& r) { return r.segment().trial_square; });
    s.square = same<double>([](Risk& r) { return r.segment().square; });
    s.trial_doubt = same<double>([](Risk& r) { return r.segment().trial_doubt; });
    return s;
  }
  double value(double t) override {
    return same<double>([&](Risk& r) { return r.value(t); });
  }
  double search(double a, double b, double t_max) override {
    return same<double>([&](Risk& r) { return r.search(a, b, t_max); });
  }
  SlopeSteps slope_steps(double t_max) override {
    return {
        same<decltype(SlopeSteps::values)>([&](Risk& r) { return r.slope_steps(t_max).values; })};
  }
  std::vector<Breakpoint> breakpoints_in(std::size_t bucket) override {
    std::vector<std::vector<Breakpoint>> parts(parts_.size());
    call([&](Risk& r, std::size_t k) { parts[k] = r.breakpoints_in(bucket); });
    std::vector<Breakpoint> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  void advance(double t) override {
    call([&](Risk& r, std::size_t) { r.advance(t); });
  }
  std::vector<double> anchor() override {
    return same<std::vector<double>>([](Risk& r) { return r.anchor(); });
  }
  double plane(std::size_t slot, double t) override {
    return same<double>([&](Risk& r) { return r.plane(slot, t); });
  }
  double plane_of(std::size_t slot, std::span<const double> statuses) override {
    std::vector<double> b(parts_.size());
    call([&](Risk& r, std::size_t k) {
      b[k] = r.plane_of(slot, statuses.subspan(parts_[k].first, parts_[k].rows->data.rows()));
    });
    EXPECT_EQ(b, std::vector<double>(b.size(), b[0]));
    return b[0];
  }
  void merge(std::size_t into, std::size_t from, double u, double v) override {
    call([&](Risk& r, std::size_t) { r.merge(into, from, u, v); });
  }
  void drop(std::size_t slot) override {
    call([&](Risk& r, std::size_t) { r.drop(slot); });
  }
  void grow(std::size_t slots) override {
    call([&](Risk& r, std::size_t) { r.grow(slots); });
  }
  std::span<const double> gram() const override {
    const auto now = same<std::vector<double>>(
        [](Risk& r) { return std::vector<double>(r.gram().begin(), r.gram().end()); });
    gram_.resize(now.size());  // where it is: whoever asks twice looks at both
    std::copy(now.begin(), now.end(), gram_.begin());
    return gram_;
  }
  std::vector<double> statuses(std::span<const double> beta) override {
    std::vector<std::vector<double>> parts(parts_.size());
    call([&](Risk& r, std::size_t k) { parts[k] = r.statuses(beta); });
    std::vector<double> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  double rebuild() override {
    return same<double>([](Risk& r) { return r.rebuild(); });
  }
  ExactValues exact(std::span<const double> beta) override {
    const auto all = same<std::vector<double>>([&](Risk& r) {
      const ExactValues v = r.exact(beta);
      return std::vector<double>{v.risk, v.anchor_square, v.b, v.square};
    });
    return {.risk = all[0], .anchor_square = all[1], .b = all[2], .square = all[3]};
  }
  bool by_rows() const override {
    return same<bool>([](Risk& r) { return r.by_rows(); });
  }
  bool narrows_well() const override {
    return same<bool>([](Risk& r) { return r.narrows_well(); });
  }
  std::uint64_t keep_near(double moved, double radius) override {
    return same<std::uint64_t>([&](Risk& r) { return r.keep_near(moved, radius); });
  }
  void mark() override {
    call([](Risk& r, std::size_t) { r.mark(); });
  }
  double moved() override {
    return same<double>([](Risk& r) { return r.moved(); });
  }
  double width_of(double share) const override {
    return same<double>([&](Risk& r) { return r.width_of(share); });
  }
  void near(std::span<const double> widths, std::span<double> counts) const override {
    const auto all = same<std::vector<double>>([&](Risk& r) {
      std::vector<double> found(widths.size());
      r.near(widths, found);
      return found;
    });
    std::copy(all.begin(), all.end(), counts.begin());
  }
  std::uint64_t narrow(double width) override {
    return same<std::uint64_t>([&](Risk& r) { return r.narrow(width); });
  }
  void widen() override {
    call([](Risk& r, std::size_t) { r.widen(); });
  }
  std::uint64_t active() const override {
    return same<std::uint64_t>([](Risk& r) { return r.active(); });
  }
  std::uint64_t rows() const override {
    return same<std::uint64_t>([](Risk& r) { return r.rows(); });
  }
  RiskCounts counts() const override {
    std::vector<RiskCounts> counts(parts_.size());
    call([&](Risk& r, std::size_t k) { counts[k] = r.counts(); });
    RiskCounts sum;
    for (const RiskCounts& one : counts) {
      sum.rows += one.rows;
      sum.objective += one.objective;
      sum.search += one.search;
    }
    return sum;
  }
  void archive(Archive& archive, const std::vector<bool>& taken) override {
    for (std::size_t one = 0; one < parts_.size(); ++one) {
      call([&](Risk& r, std::size_t k) {
        if (k == one) r.archive(archive, taken);
      });
    }
  }

 private:
  using Call = std::function<void(Risk&, std::size_t)>;
  struct Part {
    std::uint64_t first = 0;
    std::unique_ptr<ProblemPart> rows;
  };

  void serve(Transport& transport, const RiskOptions& options, int threads) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    Comm comm(transport);
    Pool pool(threads);
    const std::unique_ptr<Risk> risk =
        make_all_reduce_risk(parts_[rank].rows->problem, options, pool, comm);
    for (std::uint64_t next = 1;; ++next) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return calls_ >= next; });
      const Call call = call_;
      lock.unlock();
      if (call) call(*risk, rank);
      lock.lock();
      ++answers_;
      changed_.notify_all();
      if (!call) return;
    }
  }
  void call(const Call& f) const {
    std::unique_lock lock(mutex_);
    call_ = f;
    answers_ = 0;
    ++calls_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return answers_ == parts_.size(); });
  }
  template <class T, class F>
  T same(const F& f) const {
    std::vector<std::unique_ptr<T>> all(parts_.size());
    call([&](Risk& r, std::size_t k) { all[k] = std::make_unique<T>(f(r)); });
    for (const auto& one : all) EXPECT_EQ(*one, *all[0]) << "ranks disagree";
    return *all[0];
  }

  ThreadGroup group_;
  std::vector<Part> parts_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable Call call_;
  mutable std::uint64_t calls_ = 0;
  mutable std::size_t answers_ = 0;
  mutable std::vector<double> gram_;
  std::thread thread_;
};

template <int kRanks>
std::unique_ptr<Risk> make_ranked_risk(const Problem& problem, const RiskOptions& options,
                                       Pool& pool) {
  return std::make_unique<RankedRisk>(problem, options, pool, kRanks);
}

}  // namespace hinge::testing
