// Loads a model and predicts rows that are in memory.
//
//   predict_rows MODEL
#include <hinge/model.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

int fail(const hinge::Error& error) {
  std::fprintf(stderr, "%s\n", hinge::to_string(error).c_str());
  return hinge::exit_code(error);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s MODEL\n", arguments[0]);
    return 64;
  }
  const auto model = hinge::load_model(arguments[1]);
  if (!model) return fail(model.error());

  // Three fruits, with two numbers each: how high they are and how wide. The entries of row i stand
  // at offsets[i] up to offsets[i + 1]; an entry that is zero may be left out. Column 0 is what a
  // text that counts from 1 calls index 1.
  const std::vector<std::uint64_t> offsets = {0, 2, 4, 6};
  const std::vector<std::uint32_t> columns = {0, 1, 0, 1, 0, 1};
  const std::vector<float> values = {9.0F, 6.0F, 6.0F, 7.5F, 7.0F, 6.9F};
  const hinge::CsrView<float> rows = {.rows = 3,
                                      .features = 2,
                                      .offsets = offsets.data(),
                                      .columns = columns.data(),
                                      .values = values.data()};

  // The arrays are read where they are, and may go away afterwards. Rows of doubles go the same
  // way; any number of threads may predict with one model at a time.
  const auto predictions = hinge::predict(*model, rows);
  if (!predictions) return fail(predictions.error());

  // A score for each row and hyperplane, row by row: one of two classes, whose sign decides; else
  // one a class, of which the largest decides.
  const std::size_t planes = model->problems.size();
  for (std::size_t i = 0; i < predictions->labels.size(); ++i) {
    std::printf("row %zu: label %lld, score", i, static_cast<long long>(predictions->labels[i]));
    for (std::size_t k = 0; k < planes; ++k) {
      std::printf(" %.4f", predictions->scores[i * planes + k]);
    }
    std::printf("\n");
  }
  return 0;
}
