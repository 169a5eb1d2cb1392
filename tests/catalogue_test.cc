// The bad inputs of the catalogue that are data: catalogue/*.json has a row for each, and
// cli/catalogue_test.py gives one of every kind to the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "hinge/model.h"
#include "hinge/train.h"
#include "support.h"

namespace hinge {
namespace {

using testing::read_file;
using testing::TempFolder;
using testing::write_file;
using JsonRow = nlohmann::json;

constexpr std::string_view kGoodRows = "1 1:1 2:0.5\n-1 1:-1 2:2\n";
constexpr std::string_view kGoodModel =
    "solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 2\nnr_feature 3\nbias 1\nw\n"
    "0.73640661681251074 \n0.32007705152892907 \n0.45624066569347155 \n-0.026541497810310989 \n";

// The rows of a file of the catalogue.
JsonRow catalogue(const std::string& name) {
  const char* const folder =
      std::getenv("HINGE_TEST_FILES");  // else it is run in the project's root
  return JsonRow::parse(read_file((folder != nullptr ? folder : "tests") + ("/catalogue/" + name)));
}

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t k = 0; k < digits.size(); k += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(k, 2), nullptr, 16));
  }
  return bytes;
}

std::string data_of(const JsonRow& row) {
  if (row.contains("hex")) return from_hex(row["hex"]);
  if (row.contains("data")) return row["data"];
  return std::string(kGoodRows) + row["third"].get<std::string>() + "\n";
}

// Reads and trains as the program does; none: it was taken for good.
std::optional<Error> refusal(const std::string& path, const JsonRow& options) {
  ReadOptions read;
  TrainOptions train_options;
  for (const auto& [name, value] : options.items()) {
    if (name == "precision") {
      read.precision = value == "f64" ? Precision::f64 : Precision::f32;
    } else if (name == "index-base") {
      read.index_base = value == "0" ? IndexBase::zero : IndexBase::one;
    } else if (name == "strict") {
      read.strict = value;
    } else {
      EXPECT_TRUE(set_option(train_options, name, value.get<std::string>()).ok()) << name;
    }
  }
  std::vector<Error> warnings;
  const Result<Dataset> data = read_dataset(path, read, warnings);
  if (!data.ok()) return data.error();
  const Result<TrainReport> report = train(*data, train_options);
  if (!report.ok()) return report.error();
  return {};
}

// Whether a line holds these words, one after the other; " ... " stands for anything between them.
bool any_line_says(const std::string& text, std::string_view words) {
  constexpr std::string_view kAnything = " ... ";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t at = 0;
    for (std::string_view left = words; at != std::string::npos && !left.empty();) {
      const std::string_view word = left.substr(0, left.find(kAnything));
      at = line.find(word, at);
      if (at != std::string::npos) at += word.size();
      left.remove_prefix(std::min(left.size(), word.size() + kAnything.size()));
    }
    if (at != std::string::npos) return true;
  }
  return false;
}

// The id, its exit code and place; what is shown is printable and says what the row asks for.
void expect_refused(const std::optional<Error>& error, const JsonRow& row, int code,
                    const TempFolder& folder) {
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->id, row["id"].get<std::string>());
  ASSERT_NE(find_error(error->id), nullptr);
  EXPECT_EQ(exit_code(*error), row.value("code", code));
  EXPECT_TRUE(error->more.empty());
  std::string text = to_string(*error);
  for (std::size_t at = 0; (at = text.find(folder / "", at)) != std::string::npos;) {
    text.erase(at, (folder / "").size());
  }
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int{c};
  EXPECT_TRUE(any_line_says(text, row.value("says", ""))) << text;
  const std::string place =
      error->line == 0 ? "" : std::to_string(error->line) + ":" + std::to_string(error->column);
  EXPECT_EQ(place, row.value("place", ""));
}

TEST(Catalogue, BadData) {
  const TempFolder folder(testing::memory_folder());
  const JsonRow rows = catalogue("bad_data.json");
  EXPECT_GT(rows.size(), 120U);
  for (const JsonRow& row : rows) {
    SCOPED_TRACE(row["row"].get<std::string>());
    const std::string data = data_of(row);
    write_file(folder / "d.svm", data);
    const std::optional<Error> error =
        refusal(folder / "d.svm", row.value("options", JsonRow::object()));
    expect_refused(error, row, 65, folder);
    if (!error || error->line == 0) continue;
    std::size_t begin = 0;
    for (std::uint64_t line = 1; line < error->line; ++line) begin = data.find('\n', begin) + 1;
    EXPECT_EQ(error->offset, begin + error->column - 1);
    // The bytes shown are those of the line, and the caret stands below the first bad one.
    const std::string line = data.substr(begin, data.find('\n', begin) - begin);
    EXPECT_NE(line.find(error->excerpt), std::string::npos);
    if (error->column <= line.size()) {
      ASSERT_LT(error->caret, error->excerpt.size());
      EXPECT_EQ(error->excerpt[error->caret], line[error->column - 1]);
    }
    const JsonRow json = JsonRow::parse(to_json(*error));
    EXPECT_EQ(json["severity"], "error");
    EXPECT_EQ(json["id"], error->id);
    EXPECT_EQ(json["line"], error->line);
    EXPECT_EQ(json["column"], error->column);
    EXPECT_EQ(json["offset"], error->offset);
    EXPECT_EQ(json["message"], error->message);
  }
}

// LIBLINEAR's form, with one thing replaced.
TEST(Catalogue, BadTextModels) {
  const TempFolder folder(testing::memory_folder());
  write_file(folder / "m", kGoodModel);
  EXPECT_TRUE(load_model(folder / "m").ok());
  const JsonRow rows = catalogue("bad_text_models.json");
  EXPECT_GT(rows.size(), 50U);
  for (const JsonRow& row : rows) {
    SCOPED_TRACE(row["row"].get<std::string>());
    const std::string old = row["old"];
    std::string text(kGoodModel);
    ASSERT_NE(text.find(old), std::string::npos);
    write_file(folder / "m", text.replace(text.find(old), old.size(), row["new"]));
    const Result<Model> model = load_model(folder / "m");
    expect_refused(model.ok() ? std::nullopt : std::optional(model.error()), row, 80, folder);
  }
}

}  // namespace
}  // namespace hinge
