// The state of something as bytes, and back: a class lists its members once, in
//
//   void archive(Archive& archive) { archive(primal_, gaps_); archive.sized(w_, dimension); }
//
// and that list both writes and reads. Bytes are for the same build of hinge: nothing says what
// they mean. They may come from a damaged or hostile file all the same. A length is compared with
// the bytes that are left before memory is taken for it; whoever uses a number as an index or a
// size checks it with require(), and arrays that go with others with sized(). What does not hold
// throws Failure (checkpoint.content).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"

namespace hinge {

class Archive {
 public:
  // Reads.
  explicit Archive(std::span<const std::byte> bytes) : reading_(true), left_(bytes) {}

  // What write(archive) would write, in memory of just that size: states can be large.
  template <class Write>
  static std::vector<std::byte> written_by(const Write& write) {
    Archive measure, archive;
    measure.measuring_ = true;
    write(measure);
    archive.written_.reserve(measure.size_);
    write(archive);
    return std::move(archive.written_);
  }

  bool reading() const { return reading_; }

  template <class... T>
  void operator()(T&... values) {
    (walk(values), ...);
  }

  // An array that has `size` elements, or is refused.
  template <class Container>
  void sized(Container& values, std::size_t size) {
    require(coming_length() == size);
    walk(values);
  }
  // The same of one that may be empty instead.
  template <class Container>
  void sized_or_empty(Container& values, std::size_t size) {
    require(coming_length() == 0 || coming_length() == size);
    walk(values);
  }

  void require(bool holds) const {
    if (reading_ && !holds) refuse();
  }
  // After reading: nothing may be left over.
  void end() const { require(left_.empty()); }

 private:
  [[noreturn]] static void refuse() {
    fail("checkpoint.content", "the state in the checkpoint does not hold together");
  }

  template <class T>
  static constexpr bool is_plain = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

  void bytes(void* data, std::size_t size) {
    if (size == 0) return;
    if (reading_) {
      require(size <= left_.size());
      std::memcpy(data, left_.data(), size);
      left_ = left_.subspan(size);
    } else if (measuring_) {
      size_ += size;
    } else {
      const auto* const from = static_cast<const std::byte*>(data);
      written_.insert(written_.end(), from, from + size);
    }
  }

  // Every array begins with it.
  std::uint64_t coming_length() const {
    std::uint64_t count = 0;
    if (left_.size() < sizeof count) return count;
    std::memcpy(&count, left_.data(), sizeof count);
    return count;
  }

  // The number of elements of an array, each of at least `least` bytes.
  std::size_t length(std::size_t size, std::size_t least) {
    std::uint64_t count = size;
    bytes(&count, sizeof count);
    require(count <= left_.size() / least);
    return static_cast<std::size_t>(count);
  }

  template <class T>
  void walk(T& value) {
    if constexpr (is_plain<T>) {
      bytes(&value, sizeof value);
    } else {
      value.archive(*this);
    }
  }
  void walk(bool& value) {
    std::uint8_t byte = value ? 1 : 0;
    bytes(&byte, sizeof byte);
    require(byte <= 1);
    value = byte == 1;
  }
  void walk(std::string& text) {
    text.resize(length(text.size(), 1));
    bytes(text.data(), text.size());
  }
  template <class T>
  void walk(Buffer<T>& values) {
    values.resize(length(values.size(), sizeof(T)));
    bytes(values.data(), values.size() * sizeof(T));
  }
  template <class T>
  void walk(std::vector<T>& values) {
    if constexpr (is_plain<T>) {
      values.resize(length(values.size(), sizeof(T)));
      bytes(values.data(), values.size() * sizeof(T));
    } else if constexpr (std::is_same_v<T, bool>) {
      values.resize(length(values.size(), 1));
      for (std::size_t k = 0; k < values.size(); ++k) {
        bool value = values[k];
        walk(value);
        values[k] = value;
      }
    } else {
      walk_each(values);
    }
  }
  template <class T>
  void walk(std::deque<T>& values) {
    walk_each(values);
  }
  template <class Container>
  void walk_each(Container& values) {
    values.resize(length(values.size(), 1));
    for (auto& value : values) walk(value);
  }
  template <class T, std::size_t N>
  void walk(std::array<T, N>& values) {
    for (T& value : values) walk(value);
  }
  template <class T, std::size_t N>
  void walk(T (&values)[N]) {
    for (T& value : values) walk(value);
  }
  template <class T>
  void walk(std::optional<T>& value) {
    bool there = value.has_value();
    walk(there);
    if (!there) value.reset();
    if (there && !value) value.emplace();
    if (there) walk(*value);
  }

  Archive() = default;

  bool reading_ = false, measuring_ = false;
  std::size_t size_ = 0;             // measured
  std::span<const std::byte> left_;  // to be read
  std::vector<std::byte> written_;
};

// The state of a thing as bytes. (Its archive() changes nothing then.)
template <class T>
std::vector<std::byte> state_of(T& thing) {
  return Archive::written_by([&](Archive& archive) { thing.archive(archive); });
}

// The thing takes this state; nothing may be left over.
template <class T>
void restore(T& thing, std::span<const std::byte> state) {
  Archive archive(state);
  thing.archive(archive);
  archive.end();
}

}  // namespace hinge
