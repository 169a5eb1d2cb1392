// Typed has the loops, on those of passes.h; MemoryRows chooses between float and double.
#include "rows/memory_rows.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "data/columns.h"
#include "data/survey.h"
#include "rows/passes.h"
#include "rows/rows_ahead.h"

namespace hinge {

template <class Value>
class MemoryRows::Typed {
 public:
  Typed(const CsrView<Value>& view, double bias, const Simd& simd, Pool& pool)
      : m_(view), bias_(bias), simd_(simd), pool_(pool), ahead_(view) {}

  std::size_t dimension() const { return m_.features + (bias_ != 0 ? 1 : 0); }

  RowList cut(std::vector<std::uint64_t> list) const {
    constexpr std::uint64_t kNonzeros = std::uint64_t{1} << 16;
    constexpr std::uint64_t kRows = std::uint64_t{1} << 13;
    RowList rows{.all = false, .list = std::move(list), .cuts = {0}};
    std::uint64_t work = 0;
    for (std::uint64_t k = 0; k < rows.list.size(); ++k) {
      work += m_.offsets[rows.list[k] + 1] - m_.offsets[rows.list[k]];
      if (work >= kNonzeros || k + 1 - rows.cuts.back() >= kRows) {
        rows.cuts.push_back(k + 1);
        work = 0;
      }
    }
    if (rows.cuts.back() != rows.list.size()) rows.cuts.push_back(rows.list.size());
    return rows;
  }

  CsrView<Value> view_of(std::uint64_t first, std::uint64_t last) const {
    CsrView<Value> view = m_;
    view.rows = last - first;
    view.offsets += first;
    return view;
  }

  void squares(const RowList& all, std::span<double> out) {
    const Passes<Value>& passes = passes_of(1);
    pool_.run(all.blocks(), [&](std::size_t block) {
      for (std::uint64_t i = all.cuts[block]; i < all.cuts[block + 1]; ++i) {
        out[i] = passes.square(i);
      }
    });
  }

  void scores(const RowList& list, const double* w, std::size_t stride, const TakeScores& take) {
    const Passes<Value>& passes = passes_of(stride);
    const std::uint64_t size = list.size();
    const std::uint64_t run = std::max<std::uint64_t>(1, kScores / stride);
    const bool whole = list.cuts.empty();
    pool_.run(whole ? 1 : list.blocks(), [&](std::size_t block) {
      const std::uint64_t begin = whole ? 0 : list.cuts[block],
                          end = whole ? size : list.cuts[block + 1];
      double few[kScores];  // not cleared
      std::vector<double> many(stride > kScores ? stride : 0);
      double* const found = many.empty() ? few : many.data();
      for (std::uint64_t first = begin; first < end; first += run) {
        const std::uint64_t last = std::min(end, first + run);
        double* out = found;
        if (list.all) {
          for (std::uint64_t i = first; i < last; ++i, out += stride) passes.score(i, w, out);
        } else {
          for (std::uint64_t k = first; k < last; ++k, out += stride) {
            ask_ahead(list.list, k);
            passes.score(list.list[k], w, out);
          }
        }
        take(first, {found, out});
      }
    });
  }

  void combine(const RowList& list, const double* a, std::size_t stride, double* w) {
    Passes<Value>& passes = passes_of(stride);
    if (list.all) {
      passes.combine(
          list.size(), [](std::uint64_t k) { return k; }, a, w);
    } else {
      passes.combine(
          list.size(),
          [&](std::uint64_t k) {
            ask_ahead(list.list, k);
            return list.list[k];
          },
          a, w);
    }
  }

  // A few parts of the list have sums of their own, which are added up in order: how many there are
  // depends on the work alone.
  void gram(const RowList& list, const double* a, double* h) {
    constexpr std::uint64_t kParts = 8;
    const std::uint64_t size = list.size(), places = dimension() * dimension();
    const std::uint64_t parts = std::clamp<std::uint64_t>(size / (places + 1), 1, kParts);
    const auto cut = [&](std::uint64_t part) { return size * part / parts; };
    std::vector<std::vector<double>> sums(parts - 1);  // the first part adds to h itself
    pool_.run(parts, [&](std::size_t part) {
      double* sum = h;
      if (part > 0) {
        sums[part - 1].resize(places);
        sum = sums[part - 1].data();
      }
      for (std::uint64_t k = cut(part); k < cut(part + 1); ++k) {
        if (a[k] != 0) add_outer(list.row(k), a[k], sum);
      }
    });
    for (const std::vector<double>& sum : sums) simd_.add_dense(1, sum.data(), h, sum.size());
  }

 private:
  // So many scores are handed out at a time: they are read while they are in the nearest cache.
  static constexpr std::size_t kScores = 64;

  // Rows of a list are read in an order that the hardware does not foresee.
  __attribute__((always_inline)) void ask_ahead(const std::vector<std::uint64_t>& list,
                                                std::uint64_t k) const {
    // So many rows ahead, as in Pegasos; not varied. With it `active` takes 0.53 of the seconds on
    // rows like ccat to 1e-4, 0.73 on ccat.
    constexpr std::uint64_t kRow = 4, kPlace = 8;
    if (k + kPlace >= list.size()) return;
    ahead_.place(list[k + kPlace]);
    ahead_.template row<2>(list[k + kRow], ahead_.lines());
  }

  void add_outer(std::uint64_t i, double a, double* h) {
    const SparseRow<Value> row = row_of(m_, i);
    simd_.add_outer(row, a, h, dimension());
    if (bias_ == 0) return;
    double* const last = h + m_.features * dimension();
    simd_.add(row, a * bias_, last);
    last[m_.features] += a * bias_ * bias_;
  }

  // For so many interleaved hyperplanes; what a pass found out about the rows outlives it.
  Passes<Value>& passes_of(std::size_t stride) {
    assert(stride_of(stride) == stride);
    for (const auto& passes : passes_) {
      if (passes->stride() == stride) return *passes;
    }
    passes_.push_back(std::make_unique<Passes<Value>>(m_, bias_, stride, simd_, pool_));
    return *passes_.back();
  }

  const CsrView<Value> m_;
  const double bias_;
  const Simd& simd_;
  Pool& pool_;
  const RowsAhead<CsrView<Value>> ahead_;
  std::vector<std::unique_ptr<Passes<Value>>> passes_;
};

MemoryRows::MemoryRows(const Dataset& data, double bias, const Simd& simd, Pool& pool)
    : data_(data),
      bias_(bias),
      simd_(simd),
      pool_(pool),
      blocks_{.all = true, .list = {}, .cuts = cut_rows(data)} {
  if (const auto* const view = std::get_if<CsrView<float>>(&data_.view())) {
    floats_ = std::make_unique<Typed<float>>(*view, bias, simd, pool);
  } else {
    doubles_ =
        std::make_unique<Typed<double>>(std::get<CsrView<double>>(data_.view()), bias, simd, pool);
  }
}
MemoryRows::MemoryRows(MemoryRows&&) noexcept = default;
MemoryRows::~MemoryRows() = default;

template <class F>
void MemoryRows::with_values(const F& f) {
  if (floats_ != nullptr) {
    f(*floats_);
  } else {
    f(*doubles_);
  }
}

RowsShape MemoryRows::shape() const {
  return {.rows = data_.rows(),
          .all_rows = data_.rows(),
          .dimension = data_.features() + (bias_ != 0 ? 1 : 0)};
}

RowList MemoryRows::cut(std::vector<std::uint64_t> list) const {
  return floats_ != nullptr ? floats_->cut(std::move(list)) : doubles_->cut(std::move(list));
}

void MemoryRows::with_block(std::size_t block, const std::function<void(const Dataset::View&)>& f) {
  const std::uint64_t first = blocks_.cuts[block], last = blocks_.cuts[block + 1];
  with_values([&](const auto& rows) { f(rows.view_of(first, last)); });
}

MemoryRows MemoryRows::select(const std::vector<std::uint64_t>& list) const {
  return {keep_rows(data_, list), bias_, simd_, pool_};
}

void MemoryRows::squares(std::span<double> out) {
  with_values([&](auto& rows) { rows.squares(blocks_, out); });
}

void MemoryRows::scores(const RowList& list, std::span<const double> w, std::size_t stride,
                        const TakeScores& take) {
  with_values([&](auto& rows) { rows.scores(list, w.data(), stride, take); });
}

void MemoryRows::combine(const RowList& list, std::span<const double> a, std::size_t stride,
                         std::span<double> w) {
  with_values([&](auto& rows) { rows.combine(list, a.data(), stride, w.data()); });
}

void MemoryRows::gram(const RowList& list, std::span<const double> a, std::span<double> h) {
  with_values([&](auto& rows) { rows.gram(list, a.data(), h.data()); });
}

}  // namespace hinge
