// Loaded before the C library (LD_PRELOAD) by tests/cli/faults_test.py: memory runs out. Never part
// of hinge, and not for programs whose allocator is a sanitizer's.
//
// HINGE_FAULT=malloc:N:once lets the N-th allocation (from 1) return NULL, malloc:N:on that one and
// all after it; malloc:0:count fails none. Counting starts with main(): before it, the loader and
// the constructors of global objects would only show that a program without any memory cannot
// start. If HINGE_FAULT_COUNT names a file, the number of allocations is written to it after
// main().
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

std::atomic<bool> g_armed{false};
std::atomic<long> g_count{0};
long g_number = 0;
bool g_on = false;
int (*g_main)(int, char**, char**) = nullptr;

bool denied() {
  if (!g_armed.load(std::memory_order_acquire)) return false;
  const long count = g_count.fetch_add(1) + 1;
  if (g_number == 0 || (g_on ? count < g_number : count != g_number)) return false;
  errno = ENOMEM;
  return true;
}

int counted_main(int argc, char** argv, char** environment) {
  if (const char* rules = getenv("HINGE_FAULT")) {
    if (const char* rule = strstr(rules, "malloc:")) {
      char how[8] = "";
      if (sscanf(rule, "malloc:%ld:%7[a-z]", &g_number, how) != 2) _exit(99);
      g_on = strcmp(how, "on") == 0;
      g_armed.store(true, std::memory_order_release);
    }
  }
  const int code = g_main(argc, argv, environment);
  g_armed.store(false);
  if (const char* name = getenv("HINGE_FAULT_COUNT")) {
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0) {
      dprintf(fd, "%ld\n", g_count.load());
      close(fd);
    }
  }
  return code;
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*finish)(), void (*loader_finish)(), void* stack_end) {
  using Start =
      int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto really = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  g_main = main;
  return really(counted_main, argc, argv, init, finish, loader_finish, stack_end);
}

void* malloc(size_t size) noexcept {
  return denied() ? nullptr : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) noexcept {
  return denied() ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* old, size_t size) noexcept {
  return denied() ? nullptr : __libc_realloc(old, size);
}

void* memalign(size_t alignment, size_t size) noexcept {
  return denied() ? nullptr : __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return denied() ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
  if (denied()) return ENOMEM;
  void* const data = __libc_memalign(alignment, size);
  if (data == nullptr) return ENOMEM;
  *out = data;
  return 0;
}

}  // extern "C"
