// Rows, labels and weights, read once and never changed.
//
// A Dataset is a cheap handle on immutable memory: copies share it, and any number of threads may
// read it at once. Rows are sparse (CSR): 64-bit offsets, 32-bit columns ascending within a row,
// and float or double values; zeros written in text are not stored. Rows that all have every column
// keep their columns once. It knows nothing of losses or
// classes to come: labels are those of the file (hinge/labels.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "hinge/labels.h"
#include "hinge/result.h"

namespace hinge {

// A borrowed sparse matrix: row i holds columns[k], values[k] for offsets[i] <= k < offsets[i+1].
// Where it is full, every row holds all of the columns 0, 1, .. features - 1, and `columns` has
// them once for all rows: dense rows, as they are in a C-order array.
template <class Value>
struct CsrView {
  std::uint64_t rows = 0;
  std::uint64_t features = 0;  // every column is < features
  const std::uint64_t* offsets = nullptr;
  const std::uint32_t* columns = nullptr;
  const Value* values = nullptr;
  bool full = false;

  std::uint64_t nonzeros() const { return rows == 0 ? 0 : offsets[rows] - offsets[0]; }

  // Of entry k of all.
  std::uint32_t column(std::uint64_t k) const { return columns[full ? k % features : k]; }
  // Of row i: so many columns and values.
  std::size_t size_of(std::uint64_t i) const {
    return static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
  }
  const std::uint32_t* columns_of(std::uint64_t i) const {
    return full ? columns : columns + offsets[i];
  }
  const Value* values_of(std::uint64_t i) const { return values + offsets[i]; }
};

// Data with more classes is taken for numbers to be predicted, unless asked otherwise.
constexpr std::uint64_t kMaxClasses = 100'000;

enum class Precision : std::uint8_t { f32, f64 };
enum class IndexBase : std::uint8_t { zero, one, automatic };

struct LabelCount {
  std::int64_t label = 0;
  std::uint64_t rows = 0;
};

struct WrapOptions {
  int threads = 1;     // that look at the arrays; 0 = all cores; never changes the result
  int index_base = 0;  // what column 0 is called in text: 0 or 1
};

struct Survey;  // what training looks for in all of the data first; the library's own

class Dataset {
 public:
  using View = std::variant<CsrView<float>, CsrView<double>>;

  Dataset() = default;

  // Wraps arrays without copying them; `owner` keeps them alive. `weights` is empty (all 1) or one
  // factor >= 0 a row. Everything is checked in one pass: offsets ascending, columns ascending
  // within a row and below `features`, values finite, sizes equal. Fails with data.matrix, or with
  // data.label.nonfinite where a real target is not finite. Labels may be whole numbers, real
  // targets, or made of names (Labels::of_names), and convert from arrays of the former. The view
  // of a data set is full wherever it can be, whether or not that of the arrays was. In the same
  // pass the fingerprint is taken, which training asks for.
  static Result<Dataset> wrap(View view, Labels labels, std::span<const double> weights,
                              std::shared_ptr<const void> owner, const WrapOptions& options = {});

  std::uint64_t rows() const;
  std::uint64_t features() const;  // every column is below it; of text: largest column + 1
  std::uint64_t nonzeros() const;
  Precision precision() const { return view_.index() == 0 ? Precision::f32 : Precision::f64; }
  int index_base() const { return index_base_; }  // what column 0 is called in text: 0 or 1
  // The class of each row, by its label; none where labels are real targets.
  std::span<const std::int64_t> labels() const { return labels_.numbers(); }
  const Labels& row_labels() const { return labels_; }  // of whatever kind
  LabelKind label_kind() const { return labels_.kind(); }
  const ClassNames& class_names() const { return labels_.names(); }  // empty: labels are numbers
  std::span<const double> weights() const { return weights_; }       // empty: all rows weigh 1
  // Those that occur, ascending by label; none where labels are real targets.
  const std::vector<LabelCount>& classes() const { return classes_; }
  const View& view() const { return view_; }

  // Calls f(CsrView<float>) or f(CsrView<double>), whichever the data is.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), view_);
  }

  // Fails with data.label.kind where labels are real targets: training takes classes.
  Result<void> check_classes() const;

  // The same rows with other weights (replaces any there are). Fails with data.weights.count.
  Result<Dataset> with_weights(std::vector<double> weights) const;

  // The same rows with classes counted by another list of names, as Labels::counted_by() does: what
  // is learned of one data set and used on another must mean the same classes by the same labels.
  Result<Dataset> with_class_names(const ClassNames& names) const;

 private:
  friend class DatasetBuilder;
  View view_;
  Labels labels_;
  std::span<const double> weights_;
  std::vector<LabelCount> classes_;
  int index_base_ = 1;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const void> weights_owner_;
  std::shared_ptr<const Survey> survey_;  // none: nobody has asked yet
};

// Whether text is kept as a binary data set beside it (DATA.cache) and read from there the next
// time, in either precision. A cache whose text changed is rebuilt, or refused (cache.stale) when
// `strict`, which compares all of the text; one that others than the user and the superuser can
// have written is not used (a warning, cache.owner), or refused when `strict`. While a cache is
// made the rows are in memory in both precisions; where there is no room the text is read without.
enum class Cache : std::uint8_t { off, on, strict };

struct ReadOptions {
  Precision precision = Precision::f32;  // f32 halves memory and time; sums are double anyway
  IndexBase index_base = IndexBase::automatic;  // automatic: an index 0 anywhere makes it 0-based
  bool strict = false;                          // refuse rows whose indices are not ascending
  bool labels = true;                           // false: rows start with their first index:value
  bool real_labels = false;  // labels of text may be real numbers; if any is, all are targets
  int threads = 0;           // 0 = all cores
  std::uint64_t max_line_bytes = std::uint64_t{1} << 30;
  std::uint64_t max_bytes = UINT64_MAX;  // of text, decompressed; limit.bytes beyond
  std::uint64_t memory = 0;       // bytes the rows may take; 0 = no limit; memory.limit beyond
  std::string weights_file = {};  // one factor a row, or empty
  Cache cache = Cache::off;

  const std::atomic<bool>* stop = nullptr;  // polled; reading then fails with run.interrupted
  std::function<void(std::uint64_t bytes, std::uint64_t total)> progress = {};  // total 0 = unknown
  // Called with every bad row, in file order; the row is left out and reading goes on. Without it
  // reading fails after ten of them.
  std::function<void(const Error&)> on_bad_row = {};
};

// Where rows are read from: a file, "-" for standard input, or a pattern ("part-*.svm"), whose
// files are one data set in name order; or several of these, one data set in the order given.
// Borrows the names: for calls only.
struct DataSource {
  DataSource(const std::string& name) : names(&name, 1) {}
  DataSource(const std::vector<std::string>& all) : names(all) {}

  std::span<const std::string> names;
};

// Reads libsvm/svmlight text: `label index:value index:value ... # comment`, one row a line, plain
// or compressed (gzip, bzip2, xz, zstd: recognised by content); or a binary data set, which is
// mapped and keeps its precision. Numbers are correctly rounded, the
// locale does not matter. Memory stays below 1.6 times the result plus a few MB and the longest
// lines. What was odd but usable is appended to `warnings`, one entry a kind with its first place.
Result<Dataset> read_dataset(const DataSource& source, const ReadOptions& options,
                             std::vector<Error>& warnings);

// The same on several ranks (hinge/transport.h), which all call it with the same arguments. Each
// reads a part of about the same size: files of a pattern, lines of a file that is not compressed,
// rows of a binary data set; and gets the rows of that part, in which order the ranks are too. A
// part may be empty. Features and index base are those of all parts; warnings of all are rank 0's.
// If one rank fails, all fail with its error; mpi.inconsistent where files or options differ,
// mpi.duplicate-shard where two files of the pattern are the same.
class Transport;
Result<Dataset> read_share(const DataSource& source, const ReadOptions& options,
                           Transport& transport, std::vector<Error>& warnings);

enum class DataFormat : std::uint8_t { text, binary };

struct SaveOptions {
  DataFormat format = DataFormat::binary;
  int threads = 0;
  const std::atomic<bool>* stop = nullptr;
};

// Writes a data set as libsvm text (numbers such that reading them back gives the same bits) or as
// a binary data set, which read_dataset() maps instead of reading. Text has no place for weights
// and for names of classes (usage.value).
Result<void> save_dataset(const Dataset& data, const std::string& path, const SaveOptions& options);

// Where the cache of a data set lies whose first file this is.
std::string cache_path(const std::string& first_file);

// Whether a path is a regular file that begins like a binary data set.
bool looks_like_dataset(const std::string& path);

// The files behind a `source`: "-" and paths as they are, patterns replaced by what they match.
// Fails with io.open where a pattern matches nothing, and with io.not-a-file where standard input
// is one of several.
Result<std::vector<std::string>> source_files(const DataSource& source);

// Shapes of well-known sets: ccat (sparse text), cov1 (54 columns), real-sim (short text), news20
// (more than a million columns), dense (embeddings).
struct GenerateOptions {
  std::string like = "ccat";
  std::uint64_t rows = 0;      // 0 = as many as the set it is like
  std::uint64_t features = 0;  // 0 = likewise
  std::uint64_t seed = 1;
  int threads = 0;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(std::uint64_t rows, std::uint64_t total)> progress = {};
};

// Writes a synthetic data set as text. The same options give the same bytes on any machine and for
// any number of threads.
Result<void> generate_dataset(const std::string& path, const GenerateOptions& options);

struct SplitOptions {
  double test = 0.1;  // share of every class that goes to the test part, in (0, 1)
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;
};
struct SplitCounts {
  std::uint64_t train = 0;
  std::uint64_t test = 0;
};

// Stratified random split of a text data set: lines are copied as they are, in their order.
Result<SplitCounts> split_dataset(const DataSource& source, const std::string& train_path,
                                  const std::string& test_path, const SplitOptions& options);

}  // namespace hinge
