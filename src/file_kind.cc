#include "hinge/file_kind.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "data/data_file.h"
#include "files/file_bytes.h"
#include "files/source.h"
#include "files/tensor_file.h"
#include "hinge/model.h"
#include "model/liblinear_file.h"
#include "model/model_file.h"
#include "train/checkpoint.h"

namespace hinge {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{1} << 16;

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

bool is_number(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  double number = 0;
  const auto result = std::from_chars(word.data(), word.data() + word.size(), number);
  return result.ec != std::errc::invalid_argument && result.ptr == word.data() + word.size();
}

bool is_pair(std::string_view word) {
  const std::size_t colon = word.find(':');
  return colon != std::string_view::npos && is_number(word.substr(0, colon)) &&
         is_number(word.substr(colon + 1));
}

// A row with a feature, labelled or not. One without any could be a prediction as well.
bool is_row(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const std::vector<std::string_view> words = words_of(line);
  return std::ranges::any_of(words, is_pair) &&
         std::all_of(words.begin() + 1, words.end(),
                     [](std::string_view w) { return w.find(':') != std::string_view::npos; });
}

// How predictions of classes with names may begin.
using Beginnings = std::unordered_set<std::string>;

Beginnings beginnings_of(const ClassNames& names) {
  Beginnings all;
  for (std::size_t k = 0; k < names.size(); ++k) {
    all.insert(prediction_text(names, static_cast<std::int64_t>(k)));
  }
  return all;
}

// Where the text in quotes ends that a line begins with.
std::size_t end_of_quoted(std::string_view line) {
  std::size_t at = 1;
  while (at < line.size() && line[at] != '"') at += line[at] == '\\' ? 2U : 1U;
  return std::min(at + 1, line.size());
}

// "1", "none", "-1 0.25", LIBLINEAR's "labels 1 -1", and "cat 0.25" where that is a name.
bool is_prediction(std::string_view line, const Beginnings& names) {
  if (line.starts_with('"') && !names.empty()) {
    const std::size_t end = end_of_quoted(line);
    if (!names.contains(std::string(line.substr(0, end)))) return false;
    return std::ranges::all_of(words_of(line.substr(end)), is_number);
  }
  const std::vector<std::string_view> words = words_of(line);
  if (!words.empty() && words[0] == "labels" && !names.empty()) return true;
  return !words.empty() &&
         (is_number(words[0]) || words[0] == "none" || words[0] == "labels" ||
          (!names.empty() && names.contains(std::string(words[0])))) &&
         std::all_of(words.begin() + 1, words.end(), is_number);
}

bool has_colon(const std::string& path) {
  ByteSource source(path);
  std::vector<char> bytes(kHeadBytes);
  while (const std::size_t size = source.read(bytes)) {
    if (std::memchr(bytes.data(), ':', size) != nullptr) return true;
  }
  return false;
}

std::uint64_t header_bytes(std::string_view head) {
  std::uint64_t length = 0;
  std::memcpy(&length, head.data(), sizeof length);
  return length;
}

// Other programs write such containers too. Before its format a model of many classes says more
// than `head` may have.
bool is_native_model(std::string_view head) {
  if (!looks_like_tensor_file(head)) return false;
  return header_bytes(head) > head.size() || head.find(kModelFormat) != std::string_view::npos;
}

// What `predict` writes with --csv and --json.
bool begins_like_table(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  return line == "prediction" || line.starts_with("label,score") ||
         line.starts_with("{\"prediction\":") || line.starts_with("{\"label\":");
}

// Of a file that begins with `head`.
FileKind kind_of(std::string_view head, const std::string& path, const ClassNames& names) {
  if (looks_like_tensor_file(head, kDatasetFormat)) return FileKind::binary_rows;
  if (looks_like_tensor_file(head, kCheckpointFormat)) return FileKind::checkpoint;
  if (is_native_model(head) || begins_like_liblinear(head)) return FileKind::model;
  if (head.starts_with("{\"seconds\":")) return FileKind::trace;
  if (head.starts_with("<svg ")) return FileKind::figure;
  if (head.starts_with("curve,class,threshold,")) return FileKind::curves;
  if (begins_like_table(head)) return FileKind::predictions;
  if (head.find('\0') != std::string_view::npos) return FileKind::other;
  if (head.size() == kHeadBytes) {  // only whole lines, or whole words of a long one
    const std::size_t end = head.rfind('\n');
    head = head.substr(0, end != std::string_view::npos ? end : head.rfind(' '));
  }
  bool rows = false, predictions = true;
  const Beginnings beginnings = beginnings_of(names);
  while (!head.empty() && !rows) {
    const std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    rows = is_row(line);
    predictions = predictions && is_prediction(line, beginnings);
  }
  if (rows) return FileKind::rows;
  return predictions && !has_colon(path) ? FileKind::predictions : FileKind::other;
}

}  // namespace

std::string_view to_string(FileKind kind) {
  switch (kind) {
    case FileKind::absent:
      return "not there";
    case FileKind::empty:
      return "an empty file";
    case FileKind::stream:
      return "a pipe, a device or a folder";
    case FileKind::model:
      return "a model";
    case FileKind::checkpoint:
      return "a checkpoint";
    case FileKind::rows:
      return "libsvm text";
    case FileKind::binary_rows:
      return "a binary data set";
    case FileKind::predictions:
      return "a list of labels";
    case FileKind::trace:
      return "a trace";
    case FileKind::figure:
      return "an SVG figure";
    case FileKind::curves:
      return "a table of curves";
    case FileKind::other:
      break;
  }
  return "a file of another kind";
}

Result<FileKind> file_kind(const std::string& path, const ClassNames& names) {
  return guard([&] {
    struct stat status {};
    if (path == "-" || descriptor_behind(path) >= 0) return FileKind::stream;
    if (stat(path.c_str(), &status) != 0) return FileKind::absent;
    if (!S_ISREG(status.st_mode)) return FileKind::stream;
    if (status.st_size == 0) return FileKind::empty;
    std::vector<char> bytes(kHeadBytes);
    const std::string_view head = first_bytes(path, bytes);
    return head.empty() ? FileKind::other
                        : kind_of(head, path, names);  // empty: it may not be read
  });
}

Result<void> check_replaces(const std::string& path, FileKind written, const ClassNames& names) {
  return guard([&] {
    const FileKind there = take(file_kind(path, names));
    if (there <= FileKind::stream || there == written) return;
    fail("io.replace",
         fmt::format("cannot write {} to {}: it is {}", to_string(written), escape(path),
                     to_string(there)),
         "choose another name for the output, or give --force to replace the file");
  });
}

}  // namespace hinge
