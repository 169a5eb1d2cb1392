// What `train -C` says, in LIBLINEAR's words.
#include <fmt/core.h>

#include <cmath>

#include "cli.h"

namespace hinge::cli {
namespace {

// What is measured, and of a trial how much: of classes what is right, of numbers what is missed.
const char* measure_of(const TrainOptions& options) {
  return is_regression(options.loss) ? "squared_error" : "accuracy";
}
double measured(const CostTrial& trial, const TrainOptions& options) {
  return is_regression(options.loss) ? trial.squared_error : trial.accuracy;
}

Json trial_json(const CostTrial& trial, const TrainOptions& options) {
  Json json = {{"cost", trial.cost}};
  if (is_regression(options.loss)) json.add("epsilon", trial.epsilon);
  json.add(measure_of(options), measured(trial, options));
  return json;
}

}  // namespace

std::string trial_text(const CostTrial& trial, const TrainOptions& options) {
  const double log_cost = std::log2(trial.cost);
  if (!is_regression(options.loss)) {
    return fmt::format("log2c={:7.2f}\trate={:g}\n", log_cost, 100 * trial.accuracy);
  }
  return fmt::format("log2c={:7.2f}\tp={:7.2f}\tMean squared error={:g}\n", log_cost, trial.epsilon,
                     trial.squared_error);
}

std::string search_text(const CostSearch& search, const TrainOptions& options) {
  if (!is_regression(options.loss)) {
    return fmt::format("Best C = {:g}  CV accuracy = {:g}%\n", search.best.cost,
                       100 * search.best.accuracy);
  }
  return fmt::format("Best C = {:g} Best p = {:g}  CV MSE = {:g}\n", search.best.cost,
                     search.best.epsilon, search.best.squared_error);
}

Json search_json(const CostSearch& search, const TrainOptions& options, int folds) {
  Json trials = Json::list();
  for (const CostTrial& trial : search.trials) {
    trials.push_back(trial_json(trial, options));
  }
  Json all = trial_json(search.best, options);
  all.add("folds", folds);
  all.add("trials", trials);
  return all;
}

}  // namespace hinge::cli
