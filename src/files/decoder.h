// gzip, bzip2, xz and zstd streams, decompressed piece by piece in constant memory. Each is decoded
// by the library of its inventors; all four check the sums their format carries.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace hinge {

class Decoder {
 public:
  struct Step {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    bool complete = false;  // the input may end here: no member of the stream is unfinished
  };

  // What is wrong with the stream, in a few words ("the checksum does not match").
  struct Damage {
    std::string_view what;
    std::size_t consumed = 0;  // of `in`, up to the place where it shows
  };

  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  virtual std::string_view name() const = 0;  // "gzip"

  // Uses up a part of `in`, fills a part of `out`; goes on from member to member by itself. Nothing
  // consumed and nothing produced: it needs more of either. `last`: `in` ends the input. Throws
  // Damage and std::bad_alloc.
  virtual Step decode(std::span<const char> in, std::span<char> out, bool last) = 0;
};

// The decoder for a file that begins like this; nullptr if it is not compressed.
std::unique_ptr<Decoder> make_decoder(std::string_view head);

// Whether a compressed file may begin with this byte; libsvm text does not.
bool may_begin_compressed(char first);

// As many bytes as make_decoder() looks at.
constexpr std::size_t kDecoderHead = 6;

}  // namespace hinge
