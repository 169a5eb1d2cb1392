// Trains on arrays in memory, without a file anywhere, and counts how often the model is right.
//
//   train_arrays
#include <hinge/metrics.h>
#include <hinge/train.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

int fail(const hinge::Error& error) {
  std::fprintf(stderr, "%s\n", hinge::to_string(error).c_str());
  return hinge::exit_code(error);
}

// Points of a square grid around the origin, and the way each lies from there.
enum Direction : std::int64_t { up, left, right };

struct Points {
  std::vector<double> values;  // x and y of the first point, x and y of the second, ...
  std::vector<std::uint64_t> offsets = {0};
  std::vector<std::uint32_t> columns = {0, 1};
  std::vector<std::int64_t> labels;

  Points() {
    for (int y = -10; y <= 10; ++y) {
      for (int x = -10; x <= 10; ++x) {
        values.insert(values.end(), {x / 10.0, y / 10.0});
        offsets.push_back(values.size());
        labels.push_back(2 * y > (x < 0 ? -x : x) ? up : x < 0 ? left : right);
      }
    }
  }

  // Every row has all columns, so these are there once: what is called full.
  hinge::CsrView<double> view() const {
    return {.rows = labels.size(),
            .features = 2,
            .offsets = offsets.data(),
            .columns = columns.data(),
            .values = values.data(),
            .full = true};
  }
};

}  // namespace

int main() {
  // A data set does not copy the arrays: it borrows them, and keeps their owner alive. They must
  // not change from here on.
  const auto points = std::make_shared<const Points>();
  const auto data = hinge::Dataset::wrap(points->view(), points->labels, {}, points);
  if (!data) return fail(data.error());

  // Three classes are three hyperplanes, one a class against the rest. A bias lets them miss the
  // origin.
  const auto run = hinge::train(*data, {.cost = 10, .bias = 1});
  if (!run) return fail(run.error());
  std::printf("%zu hyperplanes, gap at most %.0e: %s\n", run->model.problems.size(),
              run->model.origin.gap,
              run->status == hinge::StopReason::converged ? "proved" : run->why.c_str());

  const auto predictions = hinge::predict(run->model, *data);
  if (!predictions) return fail(predictions.error());
  const auto metrics = hinge::evaluate(run->model, *data, *predictions);
  if (!metrics) return fail(metrics.error());
  std::printf("%.2f %% of %zu points are where the model says\n", 100 * metrics->accuracy,
              static_cast<std::size_t>(metrics->rows));
  return 0;
}
