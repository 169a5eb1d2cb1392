// The cache: text once read is kept as a binary data set beside it. It remembers which text and
// which options it was made of; anything else than the same makes it stale.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/checksum.h"
#include "base/error.h"
#include "data/data_file.h"
#include "data/dataset_builder.h"
#include "data/source.h"

namespace hinge {
namespace {

// Size and time of every file, and a checksum of its first bytes: a copy that keeps the time stamp
// but not the content is rarely equal there.
std::string describe(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) {
    ByteSource source(path);
    std::vector<char> head(std::size_t{1} << 16);
    head.resize(source.read(head));
    const FileVersion version = source.version();
    text += fmt::format("{} bytes, time {}, checksum {}\n", version.size, version.modified,
                        to_hex(checksum(std::as_bytes(std::span(head)))));
  }
  return text;
}

std::string describe(const ReadOptions& options) {
  return fmt::format("precision {} base {} strict {} labels {}",
                     options.precision == Precision::f32 ? "f32" : "f64",
                     static_cast<int>(options.index_base), options.strict, options.labels);
}

// Warnings about the text are repeated by whoever reads the cache instead.
std::string pack(std::span<const Error> warnings) {
  std::string text;
  for (const Error& warning : warnings) text += warning.id + '\t' + warning.message + '\n';
  return text;
}

void unpack(std::string_view text, std::vector<Error>& warnings) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || find_error(line.substr(0, tab)) == nullptr) return;
    warnings.push_back(
        make_warning(std::string(line.substr(0, tab)), escape(line.substr(tab + 1))));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

bool is_stream(const std::string& path) {
  struct stat status {};
  return path == "-" || (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

// Nothing if there is none. Other processes may make one or take it away at any moment.
std::optional<TensorFile> open_cache(const std::string& path) {
  for (int attempt = 0;; ++attempt) {
    Result<TensorFile> file = guard([&] { return TensorFile::map(path, "cache"); });
    if (file.ok()) return std::move(file).value();
    if (file.error().id != "io.open" || attempt == 100) throw Failure{file.error()};
    if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::nullopt;
  }
}

}  // namespace

Dataset read_cached(const std::vector<std::string>& paths, const ReadOptions& options,
                    std::vector<Error>& warnings) {
  if (std::ranges::any_of(paths, is_stream)) {
    warnings.push_back(make_warning("cache.write", "only files are cached; this is a stream"));
    return read_text(paths, options, warnings);
  }
  const std::string path = cache_path(paths.front());
  const std::string source = describe(paths), how = describe(options);
  std::string stale;
  if (std::optional<TensorFile> cached = open_cache(path)) {
    TensorFile& file = *cached;
    if (!file.has_field("source")) {
      file.reject("magic", "this was not made by --cache, so it is not overwritten either");
    }
    const bool same_source = file.field("source") == source;
    if (same_source && file.field("options") == how) {
      unpack(file.field("warnings"), warnings);
      return map_dataset(std::move(file), options);
    }
    const char* const changed = same_source ? "options" : "text";
    if (options.cache == Cache::strict) {
      file.reject("stale", fmt::format("the {} changed since this cache was made", changed));
    }
    stale = fmt::format("the {} changed since {} was made", changed, escape(path));
  }
  std::vector<Error> found;
  Dataset data = read_text(paths, options, found);
  const Result<void> written = guard([&] {
    if (describe(paths) != source) fail("io.changed", "the text changed while it was read");
    write_dataset(data, path, {{"source", source}, {"options", how}, {"warnings", pack(found)}},
                  options.stop);
  });
  if (!written.ok() && written.error().id == "run.interrupted") throw Failure{written.error()};
  if (!stale.empty()) {
    stale += written.ok() ? "; rebuilt" : "; not used";
    warnings.push_back(make_warning("cache.stale", std::move(stale)));
  }
  warnings.insert(warnings.end(), found.begin(), found.end());
  if (!written.ok()) {
    warnings.push_back(
        make_warning("cache.write", fmt::format("no cache: {}", written.error().message)));
  }
  return data;
}

}  // namespace hinge
