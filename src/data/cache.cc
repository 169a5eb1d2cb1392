// The cache: text once read is kept as a binary data set beside it, which serves readers of either
// precision. It remembers which text it was made of; anything else makes it stale. Whoever wrote it
// could have put any rows into it, so only the user and the superuser may have.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "data/columns.h"
#include "data/data_file.h"
#include "data/dataset_builder.h"
#include "files/checksum.h"
#include "files/source.h"

namespace hinge {
namespace {

// What tells that a text is another one without reading it.
struct Glance {
  std::string source;   // of each file: size, time, and a checksum of its first bytes
  std::string changed;  // and when it was last touched in any way, which nobody can set back
  bool operator==(const Glance&) const = default;
};

Glance glance(const std::vector<std::string>& paths) {
  Glance out;
  for (const std::string& path : paths) {
    ByteSource source(path);
    // Files may change twice within one tick of the clock, but only small ones are read as fast.
    std::vector<char> head(std::size_t{1} << 16);
    head.resize(source.read(head));
    const FileVersion version = source.version();
    out.source += fmt::format("{} bytes, time {}, checksum {}\n", version.size, version.modified,
                              to_hex(checksum(std::as_bytes(std::span(head)))));
    out.changed += fmt::format("{}\n", source.changed());
  }
  return out;
}

// Checksums of all bytes of the files, as they are stored.
std::string content_of(const std::vector<std::string>& paths, const std::atomic<bool>* stop) {
  std::string text;
  std::vector<char> piece(std::size_t{1} << 17);
  for (const std::string& path : paths) {
    ByteSource source(path, stop, {0, INT64_MAX});  // a part, if of any length: not decompressed
    Checksum sum;
    while (const std::size_t count = source.read(piece)) {
      if (stop != nullptr && stop->load(std::memory_order_relaxed)) {
        fail("run.interrupted", fmt::format("interrupted while reading {}", escape(path)));
      }
      sum.add(std::as_bytes(std::span(piece).first(count)));
    }
    text += to_hex(sum.value()) + '\n';
  }
  return text;
}

// Precision, index base and --strict are not among it: one cache answers all of them.
std::string describe(const ReadOptions& options) {
  return options.labels ? "labels" : "no labels";
}

// Warnings about the text are repeated by whoever reads the cache instead.
std::string pack(std::span<const Error> warnings) {
  std::string text;
  for (const Error& warning : warnings) text += warning.id + '\t' + warning.message + '\n';
  return text;
}

std::vector<Error> unpack(std::string_view text) {
  std::vector<Error> warnings;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || find_error(line.substr(0, tab)) == nullptr) break;
    warnings.push_back(
        make_warning(std::string(line.substr(0, tab)), escape(line.substr(tab + 1))));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return warnings;
}

bool is_stream(const std::string& path) {
  struct stat status {};
  return path == "-" || (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

// Nothing if there is none. Other processes may make one or take it away at any moment.
std::optional<FileBytes> open_cache(const std::string& path) {
  for (int attempt = 0;; ++attempt) {
    Result<FileBytes> file = guard([&] { return FileBytes::map(path); });
    if (file.ok()) return std::move(file).value();
    if (file.error().id != "io.open" || attempt == 100) throw Failure{file.error()};
    if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::nullopt;
  }
}

// Who else may have written these bytes; empty: nobody.
std::string others_behind(const FileBytes& bytes) {
  const FileWriters& writers = bytes.writers();
  if (writers.owner != geteuid() && writers.owner != 0) {
    return fmt::format("it belongs to user {}", writers.owner);
  }
  return writers.others ? "others than its owner may write to it" : "";
}

// Whose link a cache is, if it is one that neither this user nor the superuser made: followed, it
// could make this user write anywhere.
std::string others_link(const std::string& path) {
  struct stat link {};
  if (lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return "";
  const bool trusted = link.st_uid == geteuid() || link.st_uid == 0;
  return trusted ? "" : fmt::format("it is a link that user {} made", link.st_uid);
}

// Why a cache is not that of this text; empty if it is.
std::string why_stale(const TensorFile& file, const Glance& now,
                      const std::vector<std::string>& paths, const ReadOptions& options) {
  if (!file.has_field("content")) return "the format of caches changed since";
  if (file.field("source") != now.source) return "the text changed since";
  if (file.field("options") != describe(options)) return "the options changed since";
  const bool untouched = file.field("changed") == now.changed;
  if (untouched && options.cache != Cache::strict) return "";
  return file.field("content") == content_of(paths, options.stop) ? "" : "the text changed since";
}

// The floats that reading the text as float32 would have given, made of the doubles it gave; none
// where that is not certain. Rounding twice differs from rounding once only if the double lies
// exactly between two floats; of whole numbers beyond 2^24 and of subnormals the reader has more to
// say.
std::optional<Buffer<float>> round_to_floats(std::span<const double> doubles, bool& exact) {
  constexpr std::uint64_t kDropped = (std::uint64_t{1} << 29) - 1, kHalf = std::uint64_t{1} << 28;
  Buffer<float> floats(doubles.size());
  exact = true;
  for (std::size_t k = 0; k < doubles.size(); ++k) {
    const double size = std::abs(doubles[k]);
    const bool usual = size >= double{std::numeric_limits<float>::min()} && size <= 0x1p127;
    floats[k] = usual ? static_cast<float>(doubles[k]) : 0.0F;
    if (usual && double{floats[k]} == doubles[k]) continue;
    exact = false;
    const std::uint64_t dropped = std::bit_cast<std::uint64_t>(doubles[k]) & kDropped;
    if (!usual || size >= 0x1p24 || dropped == kHalf) return std::nullopt;
  }
  return floats;
}

// A text in both precisions.
struct BothRows {
  Dataset data;            // floats; or doubles, where no floats can stand in their place
  Buffer<double> doubles;  // beside the floats; empty if these are the same
  std::vector<Error> warnings, float_warnings;  // of who reads doubles, floats
  bool has_floats() const { return data.precision() == Precision::f32; }
};

// The data set of these values in place of its own, which are put into `own`.
template <class Own, class Value>
Dataset exchange_values(Dataset data, Buffer<Value> values, Buffer<Own>& own) {
  const std::uint64_t features = data.features();
  const int base = data.index_base();
  const bool full = data.visit([](const auto& m) { return m.full; });
  DatasetArrays<Own> arrays = DatasetBuilder::take_arrays<Own>(std::move(data));
  own = std::move(arrays.values);
  DatasetArrays<Value> changed = {std::move(arrays.offsets), std::move(arrays.columns),
                                  std::move(values),         std::move(arrays.labels),
                                  std::move(arrays.names),   std::move(arrays.targets)};
  return DatasetBuilder::build(std::move(changed), features, base, full);
}

bool have_the_same_places(const CsrView<double>& a, const CsrView<float>& b) {
  const std::uint64_t columns = a.full ? a.features : a.nonzeros();
  return a.rows == b.rows && a.features == b.features && a.full == b.full &&
         std::equal(a.offsets, a.offsets + a.rows + 1, b.offsets) &&
         std::equal(a.columns, a.columns + columns, b.columns);
}

// Reads the text as doubles and rounds them; where that is not certain, reads it once more.
BothRows read_both(const std::vector<std::string>& paths, const ReadOptions& options) {
  ReadOptions how = options;
  how.precision = Precision::f64;
  how.index_base = IndexBase::automatic;
  how.strict = false;
  how.memory = options.memory / 3 * 2;  // floats come to doubles
  BothRows rows;
  rows.data = read_text(paths, how, rows.warnings);
  const auto wide = std::get<CsrView<double>>(rows.data.view());
  bool exact = false;
  std::optional<Buffer<float>> floats = round_to_floats({wide.values, wide.nonzeros()}, exact);
  if (floats) {
    rows.data = exchange_values<double>(std::move(rows.data), std::move(*floats), rows.doubles);
    rows.float_warnings = rows.warnings;
    if (std::optional<Error> lost = look_for_lost_digits(rows.data)) {
      rows.float_warnings.push_back(*std::move(lost));
    }
    if (exact) rows.doubles = Buffer<double>();
    return rows;
  }
  how.precision = Precision::f32;
  how.memory = 0;
  Result<Dataset> narrow = guard([&] { return read_text(paths, how, rows.float_warnings); });
  if (!narrow.ok() && !narrow.error().id.starts_with("data.")) throw Failure{narrow.error()};
  if (!narrow.ok() || !have_the_same_places(wide, std::get<CsrView<float>>(narrow->view()))) {
    return rows;
  }
  rows.doubles = DatasetBuilder::take_arrays<double>(std::move(rows.data)).values;
  rows.data = std::move(narrow).value();
  return rows;
}

// Whether rows read in whatever way are those that the options ask for. Where they are not, the
// text is read as if there were no cache, which mostly fails, with the place in the text.
bool answers(const ReadOptions& options, int base, bool has_floats,
             std::span<const Error> warnings) {
  if (options.index_base == IndexBase::one && base == 0) return false;
  if (options.precision == Precision::f32 && !has_floats) return false;
  return !options.strict ||
         std::ranges::find(warnings, "data.index.unsorted", &Error::id) == warnings.end();
}

Dataset choose(BothRows rows, Precision precision) {
  if (precision == Precision::f32 || !rows.has_floats()) return std::move(rows.data);
  Buffer<float> floats;
  const auto narrow = std::get<CsrView<float>>(rows.data.view());
  if (rows.doubles.size() == 0) {
    rows.doubles.resize(narrow.nonzeros());
    std::copy_n(narrow.values, narrow.nonzeros(), rows.doubles.data());
  }
  return exchange_values<float>(std::move(rows.data), std::move(rows.doubles), floats);
}

constexpr const char* kWarnings = "warnings";
constexpr const char* kFloatWarnings = "warnings.f32";

const char* warnings_for(Precision precision) {
  return precision == Precision::f32 ? kFloatWarnings : kWarnings;
}

}  // namespace

Dataset read_cached(const std::vector<std::string>& paths, const ReadOptions& options,
                    std::vector<Error>& warnings) {
  const auto warn = [&](const char* id, std::string message) {
    warnings.push_back(make_warning(id, std::move(message)));
  };
  const auto read_without = [&] { return read_text(paths, options, warnings); };
  if (std::ranges::any_of(paths, is_stream)) {
    warn("cache.write", "only files are cached; this is a stream");
    return read_without();
  }
  const std::string path = cache_path(paths.front());
  const Glance before = glance(paths);
  std::string stale;
  std::string others = others_link(path);
  std::optional<FileBytes> bytes;
  if (others.empty()) bytes = open_cache(path);
  if (bytes) others = others_behind(*bytes);
  if (!others.empty()) {
    if (options.cache == Cache::strict) {
      fail_file("cache.owner", path, others, "delete it; hinge then makes one of the text");
    }
    warn("cache.owner", fmt::format("{} is neither used nor replaced: {}", escape(path), others));
    return read_without();
  }
  if (bytes) {
    TensorFile file = TensorFile::map(*std::move(bytes), path, "cache");
    if (!file.has_field("source")) {
      file.reject("magic", "this was not made by --cache, so it is not overwritten either");
    }
    const std::string why = why_stale(file, before, paths, options);
    if (why.empty()) {
      const std::vector<Error> found = unpack(file.field(warnings_for(options.precision)));
      const bool has_floats = file.has("values") && file.dtype("values") == DType::f32;
      const int base = file.field("index_base") == "0" ? 0 : 1;
      if (!answers(options, base, has_floats, found)) return read_without();
      warnings.insert(warnings.end(), found.begin(), found.end());
      return map_as_asked(std::move(file), options);
    }
    if (options.cache == Cache::strict)
      file.reject("stale", fmt::format("{} this cache was made", why));
    stale = fmt::format("{} {} was made", why, escape(path));
  }
  Result<BothRows> read = guard([&] { return read_both(paths, options); });
  if (!read.ok()) {
    const std::string& id = read.error().id;
    const bool memory = id.starts_with("memory.");
    // Floats have bounds of their own, so what is wrong with a text depends on the precision.
    if (!memory && !id.starts_with("data.")) throw Failure{read.error()};
    Dataset data = read_without();
    warn("cache.write", fmt::format("no cache: {}", read.error().message));
    return data;
  }
  BothRows rows = std::move(read).value();
  const std::vector<Error> found =
      options.precision == Precision::f32 ? rows.float_warnings : rows.warnings;
  const int base = rows.data.index_base();
  const bool answered = answers(options, base, rows.has_floats(), found) &&
                        (options.index_base != IndexBase::zero || base == 0);
  std::optional<Dataset> other;  // read first: where it fails nothing is written
  std::vector<Error> other_found;
  if (!answered) other = read_text(paths, options, other_found);
  const Result<void> written = guard([&] {
    DataFileOptions how = {
        .doubles = rows.doubles.span(), .stop = options.stop, .only_owner_writes = true};
    how.more = {{"source", before.source},
                {"changed", before.changed},
                {"content", content_of(paths, options.stop)},
                {"options", describe(options)},
                {kWarnings, pack(rows.warnings)},
                {kFloatWarnings, pack(rows.float_warnings)}};
    if (glance(paths) != before) fail("io.changed", "the text changed while it was read");
    write_dataset(rows.data, path, std::move(how));
  });
  if (!written.ok() && written.error().id == "run.interrupted") throw Failure{written.error()};
  if (!stale.empty()) {
    warn("cache.stale", stale + (written.ok() ? "; rebuilt" : "; not used"));
  }
  const std::vector<Error>& told = other ? other_found : found;
  warnings.insert(warnings.end(), told.begin(), told.end());
  if (!written.ok()) warn("cache.write", fmt::format("no cache: {}", written.error().message));
  return other ? *std::move(other) : choose(std::move(rows), options.precision);
}

}  // namespace hinge
