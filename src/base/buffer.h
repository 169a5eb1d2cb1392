// A growable array for bulk data: memory comes straight from the kernel in huge pages where it has
// them, is not touched before it is written, and moves without being copied when it grows. That
// keeps the peak memory of building an array near the array itself, where std::vector needs three
// times it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace hinge {

namespace detail {
// Returns memory of at least `bytes` (rounded up to pages), keeping the first `old_bytes` of `old`.
// Throws std::bad_alloc.
void* remap(void* old, std::size_t old_bytes, std::size_t bytes);
void unmap(void* data, std::size_t bytes) noexcept;
std::size_t page_round(std::size_t bytes);
// Asks for huge pages where there is nothing yet.
void advise_huge(void* data, std::size_t bytes) noexcept;
}  // namespace detail

// Room for so many, in huge pages if they are worth it: large arrays are there sooner, and where
// entries are read here and there every other one would need the address of its page looked up.
template <class T>
void reserve_huge(std::vector<T>& v, std::size_t size) {
  if (size <= v.capacity()) return;
  v.reserve(size);
  detail::advise_huge(v.data(), size * sizeof(T));
}
inline std::vector<double> huge_vector(std::size_t size, double value = 0) {
  std::vector<double> out;
  reserve_huge(out, size);
  out.resize(size, value);
  return out;
}

// Bytes of memory this machine has; SIZE_MAX when it does not say.
std::uint64_t physical_memory();
// That, or less where this process has a limit (ulimit -v).
std::uint64_t memory_in_reach();

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) { resize(size); }
  ~Buffer() { detail::unmap(data_, bytes_); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

  // New elements are zero bytes if the memory is fresh; otherwise unspecified.
  void resize(std::size_t size) {
    reserve(size);
    size_ = size;
  }

  // Makes room for so many elements, so that it need not grow up to there. Takes no memory yet.
  void reserve(std::size_t count) {
    if (count <= capacity()) return;
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    remap(detail::page_round(count * sizeof(T)));
  }

  void append(const T* items, std::size_t count) {
    if (count > 0) std::memcpy(extend(count), items, count * sizeof(T));
  }
  // So many more, which are for the caller to write, from the place returned on. What fits leaves
  // all others where they are.
  T* extend(std::size_t count) {
    if (!fits(count)) reserve(std::max(size_ + count, capacity() + capacity() / 2));
    size_ += count;
    return data_ + size_ - count;
  }
  bool fits(std::size_t count) const { return size_ + count <= capacity(); }

  // Gives memory beyond size() back.
  void shrink() {
    const std::size_t bytes = detail::page_round(size_ * sizeof(T));
    if (bytes < bytes_) remap(bytes);
  }

 private:
  std::size_t capacity() const { return bytes_ / sizeof(T); }
  void remap(std::size_t bytes) {
    data_ = static_cast<T*>(detail::remap(data_, bytes_, bytes));
    bytes_ = bytes;
  }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
  }

  T* data_ = nullptr;
  std::size_t bytes_ = 0;  // mapped
  std::size_t size_ = 0;
};

}  // namespace hinge
