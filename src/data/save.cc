// A data set as text or in our container.
#include <fmt/core.h>

#include <vector>

#include "base/digits.h"
#include "base/error.h"
#include "base/pool.h"
#include "data/data_file.h"
#include "data/survey.h"
#include "hinge/files.h"

namespace hinge {
namespace {

// Every number so that reading it back gives the same bits.
template <class Value>
void append_row(std::string& text, const Dataset& data, const CsrView<Value>& m, std::uint64_t i) {
  if (data.label_kind() == LabelKind::targets) {
    append_number(text, data.row_labels().targets()[i]);
  } else {
    append_number(text, data.labels()[i]);
  }
  for (std::size_t k = 0; k < m.size_of(i); ++k) {
    const std::uint64_t column = m.columns_of(i)[k];
    text += ' ';
    append_number(text, column + static_cast<unsigned>(data.index_base()));
    text += ':';
    append_number(text, m.values_of(i)[k]);
  }
  text += '\n';
}

// Blocks of rows are formatted in parallel, a wave at a time, and written in their order.
void write_text(const Dataset& data, const std::string& path, const SaveOptions& options) {
  OutputFile out = take(OutputFile::create(path));
  const std::vector<std::uint64_t> cuts = cut_rows(data);
  Pool pool(options.threads);
  std::vector<std::string> texts(2 * static_cast<std::size_t>(pool.threads()));
  for (std::size_t first = 0; first + 1 < cuts.size(); first += texts.size()) {
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) {
      fail("run.interrupted", fmt::format("interrupted; {} was not written", escape(path)));
    }
    const std::size_t count = std::min(texts.size(), cuts.size() - 1 - first);
    pool.run(count, [&](std::size_t job) {
      texts[job].clear();
      data.visit([&](const auto& m) {
        for (std::uint64_t i = cuts[first + job]; i < cuts[first + job + 1]; ++i) {
          append_row(texts[job], data, m, i);
        }
      });
    });
    for (std::size_t job = 0; job < count; ++job) take(out.write(texts[job]));
  }
  take(out.commit());
}

}  // namespace

Result<void> save_dataset(const Dataset& data, const std::string& path,
                          const SaveOptions& options) {
  return guard([&] {
    if (options.format == DataFormat::binary) {
      write_dataset(data, path, {.stop = options.stop});
      return;
    }
    if (!data.weights().empty()) {
      fail("usage.value", "text has no place for the row weights of this data set");
    }
    if (data.label_kind() == LabelKind::names) {
      fail("usage.value", "text has no place for the names of classes: its labels are numbers",
           "a binary data set keeps them");
    }
    write_text(data, path, options);
  });
}

}  // namespace hinge
