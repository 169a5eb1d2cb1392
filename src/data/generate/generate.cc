// Writes synthetic data sets: the table of shapes, and rows made in parallel but written in order.
// How rows are made is in generate_text.cc and generate_numeric.cc.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/pool.h"
#include "data/generate/generate_rows.h"
#include "hinge/dataset.h"
#include "hinge/files.h"

namespace hinge {
namespace {

enum class Kind : std::uint8_t { text, cover, dense };

struct Shape {
  std::string_view name;
  Kind kind;
  std::uint64_t rows;
  std::uint64_t features;
  std::uint64_t min_features;
  std::uint64_t max_features;
  double row_bytes;  // about; sets the rows of a block
  TextShape text;
};

constexpr std::uint64_t kMaxFeatures = 0xfffffffe;
constexpr auto kShapes = std::to_array<Shape>({
    {.name = "ccat",
     .kind = Kind::text,
     .rows = 804'414,
     .features = 47'236,
     .min_features = 1'000,
     .max_features = kMaxFeatures,
     .row_bytes = 1'030,
     .text = {.decimals = 5}},  // six would make 890 MB of the full set
    {.name = "cov1",
     .kind = Kind::cover,
     .rows = 581'012,
     .features = 54,
     .min_features = 15,
     .max_features = kMaxFeatures,
     .row_bytes = 120,
     .text = {}},
    {.name = "real-sim",
     .kind = Kind::text,
     .rows = 72'309,
     .features = 20'958,
     .min_features = 1'000,
     .max_features = kMaxFeatures,
     .row_bytes = 740,
     .text = {.median_length = 40.7,
              .zipf_shift = 15,
              .zipf_knee = 4'000,
              .topics = 16,
              .positive_topics = 7,
              .min_share = 0.25,
              .max_share = 0.6,
              .max_side = 0.25,
              .flips = 0.01}},
    {.name = "news20",
     .kind = Kind::text,
     .rows = 19'996,
     .features = 1'355'191,
     .min_features = 10'000,
     .max_features = kMaxFeatures,
     .row_bytes = 7'400,
     .text = {.median_length = 333,
              .length_spread = 0.83,
              .zipf_shift = 8,
              .zipf_knee = 1e9,
              .topics = 20,
              .positive_topics = 10,
              .topic_words = 1'000,
              .min_share = 0.06,
              .max_share = 0.3,
              .max_side = 0.35,
              .flips = 0.015}},
    {.name = "dense",
     .kind = Kind::dense,
     .rows = 100'000,
     .features = 384,
     .min_features = 2,
     .max_features = 65'536,
     .row_bytes = 5'200,
     .text = {}},
});

const Shape& find_shape(const std::string& name) {
  std::string names;
  for (const Shape& shape : kShapes) {
    if (shape.name == name) return shape;
    names += names.empty() ? "" : ", ";
    names += shape.name;
  }
  fail("usage.value", fmt::format("--like: expected one of {}, got \"{}\"", names, escape(name)));
}

std::uint64_t choose_features(const Shape& shape, std::uint64_t asked) {
  if (asked == 0) return shape.features;
  if (asked < shape.min_features || asked > shape.max_features) {
    fail("usage.value", fmt::format("--features: expected {} to {} for {}, got {}",
                                    shape.min_features, shape.max_features, shape.name, asked));
  }
  return asked;
}

RowMaker make_rows(const Shape& shape, std::uint64_t features, std::uint64_t seed) {
  switch (shape.kind) {
    case Kind::text:
      return make_text_rows(shape.text, features, seed);
    case Kind::cover:
      return make_cover_rows(features, seed);
    case Kind::dense:
      break;
  }
  return make_dense_rows(features, seed);
}

bool stopped(const GenerateOptions& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

// Makes blocks of rows a wave at a time, while one more job writes the wave before. Two waves are
// all there ever is in memory.
void write_rows(const RowMaker& make, std::uint64_t rows, double row_bytes,
                const GenerateOptions& options, OutputFile& file) {
  constexpr double kBlockBytes = 256 << 10, kWaveBytes = 16 << 20;
  const auto block_rows = static_cast<std::uint64_t>(std::max(1.0, kBlockBytes / row_bytes));
  const double block_bytes = static_cast<double>(block_rows) * row_bytes;
  Pool pool(options.threads);
  const std::size_t wave =
      std::min(2 * static_cast<std::size_t>(pool.threads()),
               static_cast<std::size_t>(std::max(1.0, kWaveBytes / block_bytes)));

  std::vector<std::string> made(wave), ready(wave);
  for (std::uint64_t first = 0, written = 0; written < rows; first += wave * block_rows) {
    if (stopped(options)) {
      fail("run.interrupted", fmt::format("interrupted after {} of {} rows; {} was not written",
                                          written, rows, escape(file.path())));
    }
    if (options.progress) options.progress(written, rows);
    pool.run(wave + 1, [&](std::size_t job) {
      if (job == 0) {
        for (const std::string& text : ready) take(file.write(text));
        return;
      }
      std::string& text = made[job - 1];
      text.clear();
      const std::uint64_t begin = std::min(rows, first + (job - 1) * block_rows);
      if (begin == rows) return;
      text.reserve(static_cast<std::size_t>(block_bytes * 1.25));
      make({begin, begin + std::min(block_rows, rows - begin)}, text);
    });
    written = first;
    std::swap(made, ready);
  }
}

}  // namespace

Result<void> generate_dataset(const std::string& path, const GenerateOptions& options) {
  return guard([&] {
    const Shape& shape = find_shape(options.like);
    const std::uint64_t features = choose_features(shape, options.features);
    const std::uint64_t rows = options.rows == 0 ? shape.rows : options.rows;
    double row_bytes = shape.row_bytes;
    if (shape.kind == Kind::dense) {
      row_bytes *= static_cast<double>(features) / static_cast<double>(shape.features);
    }
    OutputFile file = take(OutputFile::create(path));
    write_rows(make_rows(shape, features, options.seed), rows, row_bytes, options, file);
    take(file.commit());
  });
}

}  // namespace hinge
