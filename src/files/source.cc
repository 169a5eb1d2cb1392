#include "files/source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <glob.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>

#include "base/error.h"
#include "files/tensor_file.h"

namespace hinge {
namespace {

constexpr std::size_t kInputBytes = std::size_t{1} << 17;

// What a file that is not text begins with.
const char* recognise(std::string_view head) {
  struct Magic {
    std::string_view bytes;
    const char* name;
  };
  using std::string_view_literals::operator""sv;
  static constexpr Magic kMagics[] = {
      {"PK\3\4"sv, "a zip archive"},      {"\x7f\x45LF"sv, "a program (ELF)"},
      {"\xff\xd8\xff"sv, "a JPEG image"}, {"\x89PNG"sv, "a PNG image"},
      {"PAR1"sv, "a parquet file"},       {"%PDF"sv, "a PDF document"},
      {"\xff\xfe\0\0"sv, "UTF-32 text"},  {"\0\0\xfe\xff"sv, "UTF-32 text"},
      {"\xff\xfe"sv, "UTF-16 text"},      {"\xfe\xff"sv, "UTF-16 text"},
  };
  for (const Magic& magic : kMagics) {
    if (head.starts_with(magic.bytes)) return magic.name;
  }
  if (head.size() >= 4 && head[1] == '\0' && head[3] == '\0') return "UTF-16 text";
  if (head.size() >= 4 && head[0] == '\0' && head[2] == '\0') return "UTF-16 text";
  if (looks_like_tensor_file(head)) return "a model or data set of hinge";
  return nullptr;
}

// A path itself, or what a pattern matches, in name order.
std::vector<std::string> expand_name(const std::string& source) {
  if (source == "-" || access(source.c_str(), F_OK) == 0 ||
      source.find_first_of("*?[") == std::string::npos) {
    return {source};
  }
  struct Glob {
    glob_t found{};
    ~Glob() { globfree(&found); }
  } pattern;
  // A folder that is there but cannot be listed must not be taken for one without matches: the rest
  // would be a smaller data set.
  const auto hidden = [](const char*, int reason) { return reason == ENOENT ? 0 : 1; };
  const int result = glob(source.c_str(), 0, hidden, &pattern.found);
  if (result == GLOB_NOSPACE || (result == GLOB_ABORTED && errno == ENOMEM)) throw std::bad_alloc();
  if (result == GLOB_ABORTED) fail_errno("io.read", source, "list", errno);
  std::vector<std::string> files;
  if (result == 0) {
    files.assign(pattern.found.gl_pathv, pattern.found.gl_pathv + pattern.found.gl_pathc);
  }
  // Caches lie beside their files and must not be taken for data.
  std::erase_if(files, [](const std::string& file) {
    return file.ends_with(kCacheSuffix) &&
           is_regular(file.substr(0, file.size() - kCacheSuffix.size()));
  });
  if (files.empty()) {
    fail("io.open", fmt::format("cannot open {}: no file matches the pattern", escape(source)));
  }
  return files;
}

}  // namespace

std::vector<std::string> expand_source(const DataSource& source) {
  std::vector<std::string> files;
  for (const std::string& name : source.names) {
    if (name == "-" && source.names.size() > 1) {
      fail("io.not-a-file", "standard input (-) cannot be one of several data sets",
           "give it alone, or give files");
    }
    std::vector<std::string> found = expand_name(name);
    files.insert(files.end(), std::make_move_iterator(found.begin()),
                 std::make_move_iterator(found.end()));
  }
  return files;
}

std::string cache_path(const std::string& first_file) {
  return first_file + std::string(kCacheSuffix);
}

void check_is_text(std::string_view head, const std::string& name) {
  if (const char* what = recognise(head)) {
    fail_file("data.encoding", name, fmt::format("not libsvm text: looks like {}", what),
              "give libsvm text, plain or compressed by gzip, bzip2, xz or zstd");
  }
}

bool is_regular(const std::string& path) {
  struct stat status {};
  return path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

ByteSource::ByteSource(const std::string& path, const std::atomic<bool>* stop, ByteRange range)
    : name_(path == "-" ? "<stdin>" : path), stop_(stop), range_(range) {
  struct stat status {};
  const bool standard = path == "-";
  // Looked at before it is opened: opening a socket fails, opening a pipe may wait for ever.
  if ((standard ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status)) != 0) {
    fail_errno(standard ? "io.read" : "io.open", name_, standard ? "read" : "open", errno);
  }
  regular_ = S_ISREG(status.st_mode);
  if (S_ISDIR(status.st_mode) || (!regular_ && !S_ISFIFO(status.st_mode) && !standard)) {
    fail("io.not-a-file",
         fmt::format("cannot read {}: {}", escape(path),
                     S_ISDIR(status.st_mode) ? "it is a folder" : "not a regular file or pipe"));
  }
  fd_ = standard ? STDIN_FILENO
                 : open(path.c_str(), O_RDONLY | O_CLOEXEC | (regular_ ? 0 : O_NONBLOCK));
  if (fd_ < 0) fail_errno("io.open", path, "open", errno);
  if (range_.begin > 0 && lseek(fd_, static_cast<off_t>(range_.begin), SEEK_SET) < 0) {
    fail_errno("io.read", name_, "read", errno);
  }
  if (regular_) {
    version_ = version_of(status);
    changed_ = status.st_ctim.tv_sec * std::int64_t{1'000'000'000} + status.st_ctim.tv_nsec;
    static_cast<void>(posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL));
  }
}

ByteSource::~ByteSource() {
  if (fd_ > STDERR_FILENO) static_cast<void>(close(fd_));
}

std::size_t ByteSource::read(std::span<char> into) {
  return read(into, Until::full);
}

std::size_t ByteSource::read_some(std::span<char> into) {
  return read(into, Until::some);
}

std::size_t ByteSource::read(std::span<char> into, Until until) {
  if (!looked_) look(until);
  return decoder_ ? decode(into, until) : read_plain(into, until);
}

// The first bytes tell whether the rest needs a decoder.
void ByteSource::look(Until until) {
  looked_ = true;
  if (!range_.whole()) return;
  buffer_.resize(kDecoderHead);
  std::size_t have = until == Until::some ? read_raw({buffer_.data(), 1}, until) : 0;
  // A short row must not wait for the next one: where the first byte says enough, it is enough.
  if (have == 0 || may_begin_compressed(buffer_[0])) {
    have += read_raw(std::span(buffer_).subspan(have), Until::full);
  }
  in_ = {buffer_.data(), have};
  decoder_ = make_decoder({in_.data(), in_.size()});
  if (!decoder_) return;
  buffer_.resize(kInputBytes);
  in_ = {buffer_.data(), have};
}

std::size_t ByteSource::read_plain(std::span<char> into, Until until) {
  const std::size_t head = std::min(in_.size(), into.size());
  std::copy_n(in_.data(), head, into.data());
  in_ = in_.subspan(head);
  const std::size_t count = head + read_raw(into.subspan(head), until, head);
  if (ended_ && count < into.size()) check_unchanged();
  return count;
}

std::size_t ByteSource::decode(std::span<char> into, Until until) {
  std::size_t have = 0;
  while (have < into.size()) {
    if (in_.empty() && !ended_) in_ = {buffer_.data(), read_raw(buffer_, until)};
    Decoder::Step step;
    try {
      step = decoder_->decode(in_, into.subspan(have), ended_);
    } catch (const Decoder::Damage& damage) {
      in_ = in_.subspan(damage.consumed);
      damaged(damage.what);
    }
    if (step.consumed + step.produced == 0 && ended_ && !step.complete) damaged("cut off");
    in_ = in_.subspan(step.consumed);
    have += step.produced;
    if (step.consumed + step.produced == 0 && ended_) {
      check_unchanged();
      break;
    }
    // At once, also because what was decoded would be lost to damage that follows.
    if (until == Until::some && have > 0) break;
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) interrupted();
  }
  return have;
}

void ByteSource::damaged(std::string_view what) const {
  Error error = make_error(
      fmt::format("data.{}", decoder_->name()),
      fmt::format("the {} stream is {} (at byte {})", decoder_->name(), what, position()),
      "copy or compress the file again");
  error.file = name_;
  error.offset = position();
  throw Failure{std::move(error)};
}

// Fewer bytes than asked for only at the end; or, once there are some (`have` others already), when
// more would have to be waited for.
std::size_t ByteSource::read_raw(std::span<char> into, Until until, std::size_t have) {
  std::size_t count = 0;
  while (count < into.size() && !ended_) {
    if (until == Until::some && have + count > 0 && !ready()) break;
    if (!regular_) wait_for_bytes();
    const std::uint64_t rest = range_.end - range_.begin - read_;
    const std::size_t most = std::min<std::uint64_t>(into.size() - count, rest);
    const ssize_t got = ::read(fd_, into.data() + count, most);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0 && until == Until::some && count > 0) break;  // first what there was before it
    if (got < 0) fail_read(name_, errno, read_);
    ended_ = got == 0;
    count += static_cast<std::size_t>(got);
    read_ += static_cast<std::size_t>(got);
  }
  return count;
}

void ByteSource::read_at(std::uint64_t offset, std::span<char> into) const {
  std::size_t count = 0;
  while (count < into.size()) {
    const ssize_t got =
        pread(fd_, into.data() + count, into.size() - count, static_cast<off_t>(offset + count));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_read(name_, errno, offset + count);
    if (got == 0) changed_while_read();
    count += static_cast<std::size_t>(got);
  }
}

void ByteSource::seek(std::uint64_t offset) {
  if (lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) {
    fail_errno("io.read", name_, "read", errno);
  }
  in_ = {};
  read_ = offset - range_.begin;
}

void ByteSource::interrupted() const {
  fail("run.interrupted", fmt::format("interrupted while reading {}", escape(name_)));
}

// Whether reading need not wait.
bool ByteSource::ready() const {
  pollfd request = {fd_, POLLIN, 0};
  return regular_ || poll(&request, 1, 0) > 0;
}

// A pipe may be silent for hours; whoever waits for it must still notice a signal.
void ByteSource::wait_for_bytes() const {
  pollfd request = {fd_, POLLIN, 0};
  do {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) interrupted();
  } while (poll(&request, 1, 100) <= 0);
}

void ByteSource::check_unchanged() const {
  if (!regular_) return;
  struct stat now {};
  if (fstat(fd_, &now) != 0) fail_errno("io.read", name_, "read", errno);
  if (version_of(now) != version_) changed_while_read();
}

void ByteSource::changed_while_read() const {
  fail("io.changed", fmt::format("{} changed while it was read", escape(name_)));
}

}  // namespace hinge
