#include "files/decoder.h"

#include <bzlib.h>
#include <fmt/core.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <limits>
#include <new>

namespace hinge {
namespace {

constexpr std::string_view kDamaged = "damaged";
constexpr std::string_view kChecksum = "damaged: a checksum does not match";
constexpr std::string_view kGarbage = "followed by bytes that do not belong to it";

// zlib and bzip2 count in unsigned int.
unsigned clip(std::size_t size) {
  return static_cast<unsigned>(
      std::min<std::size_t>(size, std::numeric_limits<unsigned>::max() / 2));
}

class Gzip final : public Decoder {
 public:
  Gzip() {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { inflateEnd(&stream_); }

  std::string_view name() const override { return "gzip"; }

  Step decode(std::span<const char> in, std::span<char> out, bool) override {
    if (complete_ && in.empty()) return {.complete = true};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = clip(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = clip(out.size());
    const uInt have_in = stream_.avail_in, have_out = stream_.avail_out;
    const bool between = complete_ || (members_ > 0 && stream_.total_out == 0);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_DATA_ERROR || result == Z_NEED_DICT || result == Z_STREAM_ERROR) {
      const std::string_view what = explain(between);
      throw Damage{what, what == kGarbage ? 0 : have_in - stream_.avail_in};
    }
    complete_ = result == Z_STREAM_END;
    const Step step = {have_in - stream_.avail_in, have_out - stream_.avail_out, complete_};
    if (complete_) {
      ++members_;
      inflateReset(&stream_);
    }
    return step;
  }

 private:
  std::string_view explain(bool between) const {
    const std::string_view why = stream_.msg == nullptr ? "" : stream_.msg;
    if (between && why.find("header") != std::string_view::npos) return kGarbage;
    if (why == "incorrect data check" || why == "incorrect length check") return kChecksum;
    return kDamaged;
  }

  z_stream stream_ = {};
  bool complete_ = false;
  std::size_t members_ = 0;
};

class Bzip2 final : public Decoder {
 public:
  Bzip2() { start(); }
  ~Bzip2() override { BZ2_bzDecompressEnd(&stream_); }

  std::string_view name() const override { return "bzip2"; }

  Step decode(std::span<const char> in, std::span<char> out, bool) override {
    if (complete_) {
      if (in.empty()) return {.complete = true};
      BZ2_bzDecompressEnd(&stream_);
      start();
      again_ = true;
      complete_ = false;
    }
    stream_.next_in = const_cast<char*>(in.data());
    stream_.avail_in = clip(in.size());
    stream_.next_out = out.data();
    stream_.avail_out = clip(out.size());
    const unsigned have_in = stream_.avail_in, have_out = stream_.avail_out;
    const int result = BZ2_bzDecompress(&stream_);
    if (result == BZ_MEM_ERROR) throw std::bad_alloc();
    if (result != BZ_OK && result != BZ_STREAM_END) {  // also when a checksum differs
      if (result == BZ_DATA_ERROR_MAGIC && again_) throw Damage{kGarbage, 0};
      throw Damage{kDamaged, have_in - stream_.avail_in};
    }
    complete_ = result == BZ_STREAM_END;
    return {have_in - stream_.avail_in, have_out - stream_.avail_out, complete_};
  }

 private:
  void start() {
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }

  bz_stream stream_ = {};
  bool complete_ = false;
  bool again_ = false;  // a stream came before this one
};

class Xz final : public Decoder {
 public:
  Xz() {
    // The largest dictionary xz makes by itself takes 65 MiB; a file may claim 4 GiB.
    constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 30;
    if (lzma_stream_decoder(&stream_, kMostMemory, LZMA_CONCATENATED) != LZMA_OK) {
      throw std::bad_alloc();
    }
  }
  ~Xz() override { lzma_end(&stream_); }

  std::string_view name() const override { return "xz"; }

  Step decode(std::span<const char> in, std::span<char> out, bool last) override {
    if (complete_) return {.complete = true};
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret result = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    const Step step = {in.size() - stream_.avail_in, out.size() - stream_.avail_out,
                       result == LZMA_STREAM_END};
    complete_ = step.complete;
    switch (result) {
      case LZMA_OK:
      case LZMA_STREAM_END:
      case LZMA_BUF_ERROR:  // no progress: the caller has no more
      case LZMA_NO_CHECK:
      case LZMA_UNSUPPORTED_CHECK:
      case LZMA_GET_CHECK:
        return step;
      case LZMA_MEM_ERROR:
        throw std::bad_alloc();
      case LZMA_MEMLIMIT_ERROR:
        throw Damage{"made with a dictionary too large to be decoded in 1 GiB of memory", 0};
      case LZMA_FORMAT_ERROR:  // the first stream began right, so it is a later one
        throw Damage{kGarbage, step.consumed};
      default:
        throw Damage{kDamaged, step.consumed};
    }
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool complete_ = false;
};

class Zstd final : public Decoder {
 public:
  Zstd() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~Zstd() override { ZSTD_freeDStream(stream_); }

  std::string_view name() const override { return "zstd"; }

  Step decode(std::span<const char> in, std::span<char> out, bool) override {
    if (complete_ && in.empty()) return {.complete = true};
    ZSTD_inBuffer source = {in.data(), in.size(), 0};
    ZSTD_outBuffer target = {out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(stream_, &target, &source);
    if (ZSTD_isError(result) != 0) throw Damage{explain(ZSTD_getErrorCode(result)), source.pos};
    complete_ = result == 0;
    frames_ += complete_;
    return {source.pos, target.pos, complete_};
  }

 private:
  std::string_view explain(ZSTD_ErrorCode code) const {
    if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (code == ZSTD_error_checksum_wrong) return kChecksum;
    if (code == ZSTD_error_prefix_unknown && frames_ > 0) return kGarbage;
    if (code == ZSTD_error_frameParameter_windowTooLarge) {
      return "made with --long; it takes more than 128 MiB of memory to decode";
    }
    return kDamaged;
  }

  ZSTD_DStream* stream_;
  bool complete_ = false;
  std::size_t frames_ = 0;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(std::string_view head) {
  using std::string_view_literals::operator""sv;
  if (head.starts_with("\x1f\x8b"sv)) return std::make_unique<Gzip>();
  if (head.size() >= 4 && head.starts_with("BZh"sv) && head[3] >= '1' && head[3] <= '9') {
    return std::make_unique<Bzip2>();
  }
  if (head.starts_with("\xfd\x37zXZ\0"sv)) return std::make_unique<Xz>();
  if (head.starts_with("\x28\xb5\x2f\xfd"sv)) return std::make_unique<Zstd>();
  // A skippable frame, which parallel compressors put first.
  if (head.size() >= 4 && (head[0] & 0xf0) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18"sv) {
    return std::make_unique<Zstd>();
  }
  return nullptr;
}

bool may_begin_compressed(char first) {
  return first == '\x1f' || first == 'B' || first == '\xfd' || first == '\x28' ||
         (first & 0xf0) == 0x50;
}

}  // namespace hinge
