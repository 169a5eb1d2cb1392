#include "base/buffer.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace hinge {

std::uint64_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return SIZE_MAX;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
}

std::uint64_t memory_in_reach() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return physical_memory();
  }
  return std::min<std::uint64_t>(limit.rlim_cur, physical_memory());
}

namespace detail {
namespace {
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{1} << 21;

void* map(std::size_t bytes) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
              -1, 0);
}

// To where huge pages begin: those there are move as they are, which the kernel would otherwise
// take apart, and from the first byte on new ones can be had. MAP_FAILED: nothing happened.
void* move_to_huge_pages(void* old, std::size_t old_bytes, std::size_t bytes) {
  if (bytes > SIZE_MAX - kHugePage) return MAP_FAILED;
  void* const room = map(bytes + kHugePage);
  if (room == MAP_FAILED) return room;
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(room) % kHugePage;
  char* const data = static_cast<char*>(room) + before;
  if (before > 0) unmap(room, before);
  if (before < kHugePage) unmap(data + bytes, kHugePage - before);
  if (old == nullptr) return data;
  void* const moved = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, data);
  if (moved == MAP_FAILED) unmap(data, bytes);
  return moved;
}
}  // namespace

std::size_t page_round(std::size_t bytes) {
  if (bytes > SIZE_MAX - kPage) throw std::bad_alloc();
  return (bytes + kPage - 1) / kPage * kPage;
}

void* remap(void* old, std::size_t old_bytes, std::size_t bytes) {
  if (bytes == 0) {
    unmap(old, old_bytes);
    return nullptr;
  }
#ifdef __SANITIZE_THREAD__
  // It does not see mremap(), and holds against whoever gets an address by it what others did
  // there.
  if (old != nullptr) {
    void* const copy = remap(nullptr, 0, bytes);
    std::memcpy(copy, old, std::min(old_bytes, bytes));
    unmap(old, old_bytes);
    return copy;
  }
#endif
  void* data = MAP_FAILED;
  if (old != nullptr) data = mremap(old, old_bytes, bytes, 0);
  const bool huge = bytes >= 4 * kHugePage;  // small buffers do without huge pages
  if (data == MAP_FAILED && huge) data = move_to_huge_pages(old, old_bytes, bytes);
  if (data == MAP_FAILED)
    data = old == nullptr ? map(bytes) : mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) throw std::bad_alloc();
  // Only advice: a kernel without huge pages ignores it.
  if (huge) static_cast<void>(madvise(data, bytes, MADV_HUGEPAGE));
  return data;
}

void advise_huge(void* data, std::size_t bytes) noexcept {
  if (bytes < kHugePage) return;
  // From where its page begins: the kernel looks for whole huge pages by itself.
  const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % kPage;
  static_cast<void>(madvise(static_cast<char*>(data) - before, bytes + before, MADV_HUGEPAGE));
}

void unmap(void* data, std::size_t bytes) noexcept {
  if (data != nullptr) static_cast<void>(munmap(data, bytes));
}

}  // namespace detail
}  // namespace hinge
