// Learns from rows as they come, each predicted before it is learned, and never kept.
//
//   online MODEL < ROWS
//
// If MODEL is there, it goes on where that ended: rows of today, then rows of tomorrow.
#include <hinge/file_kind.h>
#include <hinge/stream.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace {

int fail(const hinge::Error& error) {
  std::fprintf(stderr, "%s\n", hinge::to_string(error).c_str());
  return hinge::exit_code(error);
}

hinge::Result<hinge::Stream> begin(const std::string& model_path) {
  const auto kind = hinge::file_kind(model_path);
  if (!kind) return kind.error();
  // The smaller lambda, the more it trusts the rows. Nothing else need be known beforehand: not how
  // many rows will come, nor which columns or labels.
  if (*kind == hinge::FileKind::absent) return hinge::Stream::create({.lambda = 1e-4});
  const auto model = hinge::load_model(model_path);
  if (!model) return model.error();
  return hinge::Stream::resume(*model);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s MODEL < ROWS\n", arguments[0]);
    return 64;
  }
  const std::string model_path = arguments[1];
  auto stream = begin(model_path);
  if (!stream) return fail(stream.error());
  const hinge::StreamFigures before = stream->figures();

  // Indices of the text count from 1, as the stream takes for granted unless told otherwise.
  auto reader = hinge::RowReader::open("-", {.index_base = hinge::IndexBase::one});
  if (!reader) return fail(reader.error());

  // A block is what has arrived: one row of a slow pipe, thousands of a file.
  std::optional<hinge::Error> trouble;
  hinge::RowBlock block;
  std::vector<hinge::StreamPrediction> predictions;  // a program of yours would act on these
  while (!trouble) {
    const auto more = reader->next(block);
    if (!more) trouble = more.error();
    if (!more || !*more) break;
    predictions.clear();
    const auto learned = stream->learn_batch(block.rows, predictions);
    if (!learned) trouble = learned.error();
  }

  // A bad row ends it, but what was learned before that row is saved.
  const hinge::StreamFigures now = stream->figures();
  stream->set_lines(before.lines + reader->lines());
  std::printf("%zu rows learned, of which %zu were predicted wrongly before\n",
              static_cast<std::size_t>(now.rows - before.rows),
              static_cast<std::size_t>(now.errors - before.errors));
  if (now.rows > 0) {
    const auto saved = stream->save(model_path);
    if (!saved) return fail(saved.error());
  }
  return trouble ? fail(*trouble) : 0;
}
