// LIBLINEAR's train() without bias, on rows that stay in memory:
//
//   liblinear_solve FILE [S [P]]     then lines "COST EPSILON WEIGHTS" on stdin, see libsvm_rows.h
//
// S is the number that its -s takes, 3 unless told; P its -p, 0.1 unless told.
//
// The seconds are those of train() alone. bench/matrix_peers.py compiles it together with
// LIBLINEAR's own sources, whose limit of 300 passes it lifts, or else with the library of the
// distribution, which ends after 1,000 passes whatever is asked for.
#include <linear.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "libsvm_rows.h"

namespace {

class Problem {
 public:
  Problem(Rows&& rows, int solver, double insensitive)
      : label_(std::move(rows.label)), solver_(solver), insensitive_(insensitive) {
    std::size_t count = 0;
    for (const Row& row : rows.x) count += row.size() + 1;
    nodes_.reserve(count);
    for (Row& row : rows.x) {
      starts_.push_back(nodes_.data() + nodes_.size());
      for (const auto& [column, value] : row) nodes_.push_back({static_cast<int>(column), value});
      nodes_.push_back({-1, 0});
      Row().swap(row);
    }
    problem_.l = static_cast<int>(label_.size());
    problem_.n = static_cast<int>(rows.columns) - 1;
    problem_.y = label_.data();
    problem_.x = starts_.data();
    problem_.bias = -1;
  }

  Trained train(double cost, double epsilon) const {
    parameter how{};
    how.solver_type = solver_;
    how.C = cost;
    how.eps = epsilon;
    how.p = insensitive_;
#if LIBLINEAR_VERSION >= 240  // not used by these solvers, but looked at
    how.nu = 0.5;
    how.regularize_bias = 1;
#endif
    if (const char* refused = check_parameter(&problem_, &how)) throw std::runtime_error(refused);
    const Stopwatch watch;
    model* made = ::train(&problem_, &how);
    Trained trained{.w = {}, .seconds = watch.seconds()};
    trained.w = check_regression_model(made) != 0 ? only(*made) : hyperplanes(*made);
    free_and_destroy_model(&made);
    return trained;
  }

 private:
  static std::vector<Weights> only(const model& made) {
    Weights w(static_cast<std::size_t>(made.nr_feature) + 1);
    std::copy_n(made.w, w.size() - 1, w.begin() + 1);
    return {w};
  }
  static std::vector<Weights> hyperplanes(const model& made) {
    const auto columns = static_cast<std::size_t>(made.nr_feature);
    if (made.nr_class == 2) {  // one, for the label that LIBLINEAR met first
      Weights w(columns + 1);
      const double sign = made.label[0] > made.label[1] ? 1 : -1;
      for (std::size_t j = 0; j < columns; ++j) w[j + 1] = sign * made.w[j];
      return {w};
    }
    const auto classes = static_cast<std::size_t>(made.nr_class);
    std::vector<std::pair<int, std::size_t>> order;
    for (std::size_t k = 0; k < classes; ++k) order.emplace_back(made.label[k], k);
    std::ranges::sort(order);
    std::vector<Weights> all;
    for (const auto& [label, k] : order) {
      Weights w(columns + 1);
      for (std::size_t j = 0; j < columns; ++j) w[j + 1] = made.w[j * classes + k];
      all.push_back(w);
    }
    return all;
  }

  std::vector<double> label_;
  int solver_;
  double insensitive_;
  std::vector<feature_node> nodes_;
  std::vector<feature_node*> starts_;
  problem problem_{};
};

}  // namespace

int main(int count, char** words) {
  if (count < 2 || count > 4) {
    std::cerr << "usage: liblinear_solve FILE [S [P]]\n";
    return 2;
  }
  try {
    set_print_string_function([](const char*) {});
    Rows rows = read(words[1]);
    const unsigned long columns = rows.columns;
    const Problem data(std::move(rows), count > 2 ? std::stoi(words[2]) : L2R_L1LOSS_SVC_DUAL,
                       count > 3 ? std::stod(words[3]) : 0.1);
    serve(columns, [&](double cost, double epsilon) { return data.train(cost, epsilon); });
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
