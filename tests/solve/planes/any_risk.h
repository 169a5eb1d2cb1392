// A Risk and those who choose its active rows, for one test of all their calls. On the rows of one
// process, or of several ranks (threads), each with some of them, which make every call at once:
// what they say must be the same to the bit.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "data/columns.h"
#include "ranks/comm.h"
#include "rows/memory_rows.h"
#include "rows/ranked_rows.h"
#include "solve/planes/focus.h"
#include "solve/planes/risk.h"
#include "solve/planes/wandering.h"
#include "thread_transport.h"

namespace hinge::testing {

class AnyRisk {
 public:
  virtual ~AnyRisk() = default;

  // Those of Risk.
  virtual double begin(std::span<const double> w) = 0;
  virtual void set_trial(std::span<const double> beta) = 0;
  virtual Segment segment() const = 0;
  virtual double value(double t) = 0;
  virtual double search(double a, double b, double t_max) = 0;
  virtual void advance(double t) = 0;
  virtual std::vector<double> anchor() = 0;
  virtual double plane(std::size_t slot, double t) = 0;
  virtual double plane_of(std::size_t slot, std::span<const double> statuses) = 0;
  virtual double rebuild() = 0;
  virtual ExactValues exact(std::span<const double> beta) = 0;
  virtual void mark() = 0;
  virtual void return_to_mark() = 0;
  virtual std::uint64_t active() const = 0;
  // Those of Planes.
  virtual void merge(std::size_t into, std::size_t from, double u, double v) = 0;
  virtual void drop(std::size_t slot) = 0;
  virtual void grow(std::size_t slots) = 0;
  virtual std::span<const double> gram() const = 0;
  virtual std::vector<double> statuses(std::span<const double> beta) = 0;
  // Those of NearMargin and Wandering.
  virtual double moved() = 0;
  virtual double width_of(double share) const = 0;
  virtual std::uint64_t narrow(double width) = 0;
  virtual std::uint64_t keep_near(double moved, double radius) = 0;
};

// On these rows, which are those of the problem.
class RiskOnRows final : public AnyRisk {
 public:
  RiskOnRows(const Problem& problem, std::unique_ptr<Rows> rows, const RiskOptions& options,
             Pool& pool)
      : rows_(std::move(rows)), risk_(problem, *rows_, options, pool) {}

  double begin(std::span<const double> w) override { return risk_.begin(w); }
  void set_trial(std::span<const double> beta) override { risk_.set_trial(beta); }
  Segment segment() const override { return risk_.segment(); }
  double value(double t) override { return risk_.value(t); }
  double search(double a, double b, double t_max) override { return risk_.search(a, b, t_max); }
  void advance(double t) override { risk_.advance(t); }
  std::vector<double> anchor() override { return risk_.anchor(); }
  double plane(std::size_t slot, double t) override { return risk_.plane(slot, t); }
  double plane_of(std::size_t slot, std::span<const double> statuses) override {
    return risk_.plane_of(slot, statuses);
  }
  double rebuild() override { return risk_.rebuild(); }
  ExactValues exact(std::span<const double> beta) override { return risk_.exact(beta); }
  void mark() override { risk_.mark(); }
  void return_to_mark() override { risk_.return_to_mark(); }
  std::uint64_t active() const override { return risk_.active(); }
  void merge(std::size_t into, std::size_t from, double u, double v) override {
    risk_.planes().merge(into, from, u, v);
  }
  void drop(std::size_t slot) override { risk_.planes().drop(slot); }
  void grow(std::size_t slots) override { risk_.planes().grow(slots); }
  std::span<const double> gram() const override { return risk_.planes().gram().values(); }
  std::vector<double> statuses(std::span<const double> beta) override {
    return risk_.planes().statuses(beta);
  }
  double moved() override { return near_.moved(); }
  double width_of(double share) const override { return near_.width_of(share); }
  std::uint64_t narrow(double width) override { return near_.narrow(width); }
  std::uint64_t keep_near(double moved, double radius) override {
    return wandering_.keep_near(moved, radius);
  }

 private:
  const std::unique_ptr<Rows> rows_;
  Risk risk_;
  NearMargin near_{risk_};
  Wandering wandering_{risk_};
};

inline std::unique_ptr<Rows> rows_in_memory(const Problem& problem, const RiskOptions& options,
                                            Pool& pool) {
  return std::make_unique<MemoryRows>(*problem.data, problem.free_bias ? 0.0 : problem.bias,
                                      *options.simd, pool);
}

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

class RankedRisk final : public AnyRisk {
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
    call([](AnyRisk&, std::size_t) {});  // all are there
  }
  ~RankedRisk() override {
    call({});
    thread_.join();
  }
  RankedRisk(const RankedRisk&) = delete;
  RankedRisk& operator=(const RankedRisk&) = delete;

  double begin(std::span<const double> w) override {
    return same<double>([&](AnyRisk& r) { return r.begin(w); });
  }
  void set_trial(std::span<const double> beta) override {
    call([&](AnyRisk& r, std::size_t) { r.set_trial(beta); });
  }
  Segment segment() const override {
    Segment s;
    s.anchor_square = same<double>([](AnyRisk& r) { return r.segment().anchor_square; });
    s.product = same<double>([](AnyRisk& r) { return r.segment().product; });
    s.trial_square = same<double>([](AnyRisk& r) { return r.segment().trial_square; });
    s.square = same<double>([](AnyRisk& r) { return r.segment().square; });
    s.trial_doubt = same<double>([](AnyRisk& r) { return r.segment().trial_doubt; });
    return s;
  }
  double value(double t) override {
    return same<double>([&](AnyRisk& r) { return r.value(t); });
  }
  double search(double a, double b, double t_max) override {
    return same<double>([&](AnyRisk& r) { return r.search(a, b, t_max); });
  }
  void advance(double t) override {
    call([&](AnyRisk& r, std::size_t) { r.advance(t); });
  }
  std::vector<double> anchor() override {
    return same<std::vector<double>>([](AnyRisk& r) { return r.anchor(); });
  }
  double plane(std::size_t slot, double t) override {
    return same<double>([&](AnyRisk& r) { return r.plane(slot, t); });
  }
  double plane_of(std::size_t slot, std::span<const double> statuses) override {
    std::vector<double> b(parts_.size());
    call([&](AnyRisk& r, std::size_t k) {
      b[k] = r.plane_of(slot, statuses.subspan(parts_[k].first, parts_[k].rows->data.rows()));
    });
    EXPECT_EQ(b, std::vector<double>(b.size(), b[0]));
    return b[0];
  }
  void merge(std::size_t into, std::size_t from, double u, double v) override {
    call([&](AnyRisk& r, std::size_t) { r.merge(into, from, u, v); });
  }
  void drop(std::size_t slot) override {
    call([&](AnyRisk& r, std::size_t) { r.drop(slot); });
  }
  void grow(std::size_t slots) override {
    call([&](AnyRisk& r, std::size_t) { r.grow(slots); });
  }
  std::span<const double> gram() const override {
    const auto now = same<std::vector<double>>(
        [](AnyRisk& r) { return std::vector<double>(r.gram().begin(), r.gram().end()); });
    gram_.resize(now.size());  // where it is: whoever asks twice looks at both
    std::copy(now.begin(), now.end(), gram_.begin());
    return gram_;
  }
  std::vector<double> statuses(std::span<const double> beta) override {
    std::vector<std::vector<double>> parts(parts_.size());
    call([&](AnyRisk& r, std::size_t k) { parts[k] = r.statuses(beta); });
    std::vector<double> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  double rebuild() override {
    return same<double>([](AnyRisk& r) { return r.rebuild(); });
  }
  ExactValues exact(std::span<const double> beta) override {
    const auto all = same<std::vector<double>>([&](AnyRisk& r) {
      const ExactValues v = r.exact(beta);
      return std::vector<double>{v.risk, v.anchor_square, v.b, v.square};
    });
    return {.risk = all[0], .anchor_square = all[1], .b = all[2], .square = all[3]};
  }
  std::uint64_t keep_near(double moved, double radius) override {
    return same<std::uint64_t>([&](AnyRisk& r) { return r.keep_near(moved, radius); });
  }
  void mark() override {
    call([](AnyRisk& r, std::size_t) { r.mark(); });
  }
  double moved() override {
    return same<double>([](AnyRisk& r) { return r.moved(); });
  }
  double width_of(double share) const override {
    return same<double>([&](AnyRisk& r) { return r.width_of(share); });
  }
  std::uint64_t narrow(double width) override {
    return same<std::uint64_t>([&](AnyRisk& r) { return r.narrow(width); });
  }
  void return_to_mark() override {
    call([](AnyRisk& r, std::size_t) { r.return_to_mark(); });
  }
  std::uint64_t active() const override {
    return same<std::uint64_t>([](AnyRisk& r) { return r.active(); });
  }

 private:
  using Call = std::function<void(AnyRisk&, std::size_t)>;
  struct Part {
    std::uint64_t first = 0;
    std::unique_ptr<ProblemPart> rows;
  };

  void serve(Transport& transport, const RiskOptions& options, int threads) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    Comm comm(transport);
    Pool pool(threads);
    const Problem& own = parts_[rank].rows->problem;
    const auto risk = std::make_unique<RiskOnRows>(
        own, std::make_unique<RankedRows>(rows_in_memory(own, options, pool), comm), options, pool);
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
    call([&](AnyRisk& r, std::size_t k) { all[k] = std::make_unique<T>(f(r)); });
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

// Searches are as exact as they can be.
using MakeRisk = std::unique_ptr<AnyRisk> (*)(const Problem&, RiskOptions, Pool&);
inline std::unique_ptr<AnyRisk> make_risk(const Problem& problem, RiskOptions options, Pool& pool) {
  return std::make_unique<RiskOnRows>(problem, rows_in_memory(problem, options, pool), options,
                                      pool);
}
template <int kRanks>
std::unique_ptr<AnyRisk> make_ranked_risk(const Problem& problem, RiskOptions options, Pool& pool) {
  options.search_doubt = 1e-12;
  return std::make_unique<RankedRisk>(problem, options, pool, kRanks);
}

}  // namespace hinge::testing
