// LIBLINEAR's model: what is read is the same when written and read again, in both formats.
#include "fuzz.h"
#include "hinge/model.h"

#include <cmath>

namespace hinge::fuzz {
namespace {

std::string save(const Model& model, ModelFormat format) {
  return written([&](const std::string& path) {
    const Result<void> done = save_model(model, path, format);
    require(done.ok(), "not saved: " + (done.ok() ? "" : to_string(done.error())));
  });
}

Model load_again(const std::string& bytes) {
  const MemoryFile file(bytes);
  Result<Model> model = load_model(file.path());
  require(model.ok(), "not loaded again: " + (model.ok() ? "" : to_string(model.error())));
  return std::move(model).value();
}

void require_same(const Model& a, const Model& b) {
  require(a.labels == b.labels && a.features == b.features && a.weights == b.weights,
          "another model when saved and loaded again");
  require(a.origin.bias_feature == b.origin.bias_feature, "another bias feature");
  for (std::size_t k = 0; k < a.problems.size(); ++k) {
    require(a.problems[k].bias == b.problems[k].bias, "another bias");
  }
}

// Begins like the header that LIBLINEAR writes, one line a place.
constexpr std::string_view kLines[] = {"solver_type L2R_L1LOSS_SVC_DUAL\n",
                                       "nr_class 2\n",
                                       "nr_class 3\n",
                                       "label 1 -1\n",
                                       "label 0 1 2\n",
                                       "nr_feature 2\n",
                                       "nr_feature 1\n",
                                       "bias -1\n",
                                       "bias 1\n",
                                       "w\n",
                                       "0.5 \n",
                                       "-1e-300 0 1 \n",
                                       "nan \n",
                                       "1e400 \n",
                                       "-0\r\n",
                                       "\n",
                                       " ",
                                       "2147483647",
                                       "label"};

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.starts_with("solver_type ")) return -1;
  const MemoryFile file(bytes);
  const hinge::Result<hinge::Model> model = hinge::load_model(file.path());
  if (!model.ok()) {
    const hinge::Error& error = model.error();
    require_error(error, {80});
    require(error.offset <= size, "an offset outside the file");
    require(error.line >= 1 && error.column >= 1, "no place");
    return 0;
  }
  for (const double weight : model->weights) require(std::isfinite(weight), "not finite");
  const std::string native = save(*model, hinge::ModelFormat::native);
  require_same(*model, load_again(native));
  const std::string text = save(*model, hinge::ModelFormat::liblinear);
  require_same(*model, load_again(text));
  require(save(load_again(text), hinge::ModelFormat::liblinear) == text, "other bytes");
  return 0;
}

// Puts in a line, takes one out, or changes bytes anywhere.
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  using namespace hinge::fuzz;
  constexpr std::size_t kCount = sizeof kLines / sizeof kLines[0];
  if (seed % 3 != 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t at = text.find('\n', size == 0 ? 0 : seed / 7 % size);
  const std::size_t place = at == std::string::npos ? text.size() : at + 1;
  if (seed % 2 == 0) {
    text.insert(place, kLines[seed / 11 % kCount]);
  } else {
    text.erase(place, text.find('\n', place) - place + 1);
  }
  text.resize(std::min(text.size(), max_size));
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
