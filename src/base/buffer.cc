#include "base/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace hinge {

std::uint64_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return SIZE_MAX;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
}

namespace detail {
namespace {
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{1} << 21;
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
  void* data = old == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                              : mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) throw std::bad_alloc();
  // Only advice: small buffers do without, and a kernel without huge pages ignores it.
  if (bytes >= 4 * kHugePage) static_cast<void>(madvise(data, bytes, MADV_HUGEPAGE));
  return data;
}

void unmap(void* data, std::size_t bytes) noexcept {
  if (data != nullptr) static_cast<void>(munmap(data, bytes));
}

}  // namespace detail
}  // namespace hinge
