// Reads rows from a file, trains a model, proves how good it is, and saves it.
//
//   train_and_prove DATA MODEL
#include <hinge/train.h>
#include <hinge/verify.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

// The library never prints: what went wrong is a value, which knows the file, the line, what to do
// about it, and the exit code that fits.
int fail(const hinge::Error& error) {
  std::fprintf(stderr, "%s\n", hinge::to_string(error).c_str());
  return hinge::exit_code(error);
}

void show(const std::vector<hinge::Error>& warnings) {
  for (const hinge::Error& w : warnings) std::fprintf(stderr, "%s\n", hinge::to_string(w).c_str());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s DATA MODEL\n", arguments[0]);
    return 64;
  }
  const std::string data_path = arguments[1];
  const std::string model_path = arguments[2];

  // DATA is text, "label index:value index:value ...", one row a line, which may be compressed; or
  // a binary data set.
  std::vector<hinge::Error> warnings;
  const auto data = hinge::read_dataset(data_path, {}, warnings);
  show(warnings);
  if (!data) return fail(data.error());
  std::printf("%s: %zu rows, %zu features, %zu classes\n", data_path.c_str(),
              static_cast<std::size_t>(data->rows()), static_cast<std::size_t>(data->features()),
              data->classes().size());

  // The larger the cost C, the more rows are fitted and the larger the weights. Training goes on
  // until the gap is reached: how far from the best value the model may be, as a fraction of its
  // own.
  const auto run = hinge::train(*data, {.cost = 1, .gap = 1e-3});
  if (!run) return fail(run.error());
  show(run->warnings);

  // A run that a limit ended is no failure: its model is the best so far and carries the gap it
  // reached.
  const hinge::Certificate reached = run->model.certificate();
  if (run->status != hinge::StopReason::converged) std::printf("%s\n", run->why.c_str());
  std::printf("this model has the value %.6f, and no other one is below %.6f: gap %.1e\n",
              reached.primal, reached.dual, reached.relative_gap);

  // Whoever has the model and the rows can check that, without trusting the training.
  const auto check = hinge::verify(run->model, *data);
  if (!check) return fail(check.error());
  std::printf("recomputed from the rows: %s\n", check->proved ? "proved" : check->why.c_str());

  const auto saved = hinge::save_model(run->model, model_path);
  if (!saved) return fail(saved.error());
  std::printf("saved as %s\n", model_path.c_str());
  return 0;
}
