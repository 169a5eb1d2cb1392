// Loaded before the C library (LD_PRELOAD) by tests/cli/faults_test.py: file system calls fail,
// come up short, or are the last thing the program does. Never part of hinge.
//
// Only calls count that concern the folder HINGE_FAULT_ROOT (which is the working directory),
// standard input and standard output: what the C library and the loader do elsewhere would make the
// numbers differ from machine to machine. HINGE_FAULT is a list, separated by commas, of
//
//   log:FILE          append a line "NAME PATH RESULT KIND" for every call that counts; KIND is
//                     `changes` for those that `any` counts, else `looks`
//   CALL:N:ERROR      the N-th CALL (from 1) fails with this errno, by name or number
//   CALL:N+:ERROR     and all after it
//   CALL:N:short      the N-th read or write handles half of its bytes, at least one
//   CALL:N:kill       the program is killed just before the N-th CALL; `after`: just after it
//   all-short         every read and write handles one byte
//   all-eintr         every other read and write is interrupted, the first one too
//
// CALL is the name of a function without 64 or at, or `any`: any call that can change the file
// system (creating, writing, syncing, closing what was written, renaming, removing).
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace {

constexpr int kMaxRules = 8, kMaxFiles = 256, kPathBytes = 512;

enum class Act { fail, shorten, kill, after };

struct Rule {
  char call[16];
  long number;
  bool onwards;
  Act act;
  int error;
};

struct File {
  char path[kPathBytes];  // empty: does not count
  bool written;
};

constexpr const char* kCalls[] = {"any",   "open",   "read",   "write",  "fsync",     "fdatasync",
                                  "close", "rename", "unlink", "fchmod", "ftruncate", "access",
                                  "stat",  "fstat",  "mmap",   "mremap"};
constexpr int kCallCount = sizeof kCalls / sizeof *kCalls;

Rule g_rules[kMaxRules];
int g_rule_count = 0;
bool g_started = false;
bool g_all_short = false, g_all_eintr = false;
char g_root[kPathBytes];
int g_log = -1;
File g_files[kMaxFiles];
std::atomic<long> g_counts[kCallCount];
std::atomic<long> g_interrupts{0};

int error_number(const char* name) {
  struct Known {
    const char* name;
    int number;
  };
  static constexpr Known kKnown[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EDQUOT", EDQUOT},
                                     {"EFBIG", EFBIG},   {"EINTR", EINTR},   {"ENOMEM", ENOMEM},
                                     {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"EROFS", EROFS},
                                     {"ENODEV", ENODEV}};
  for (const Known& known : kKnown) {
    if (strcmp(name, known.name) == 0) return known.number;
  }
  return atoi(name);
}

[[noreturn]] void refuse(const char* text) {
  fprintf(stderr, "HINGE_FAULT: not understood: %s\n", text);
  _exit(99);
}

void add_rule(char* text) {
  if (strncmp(text, "log:", 4) == 0) {
    g_log = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, text + 4, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    return;
  }
  if (strcmp(text, "all-short") == 0) {
    g_all_short = true;
    return;
  }
  if (strcmp(text, "all-eintr") == 0) {
    g_all_eintr = true;
    return;
  }
  char* save = nullptr;
  const char* call = strtok_r(text, ":", &save);
  const char* number = strtok_r(nullptr, ":", &save);
  const char* act = strtok_r(nullptr, ":", &save);
  if (call == nullptr || number == nullptr || act == nullptr || g_rule_count == kMaxRules) {
    refuse(text);
  }
  if (strcmp(call, "malloc") == 0) return;  // memory_faults.cc
  Rule& rule = g_rules[g_rule_count++];
  snprintf(rule.call, sizeof rule.call, "%s", call);
  rule.number = atol(number);
  rule.onwards = strchr(number, '+') != nullptr;
  rule.act = strcmp(act, "short") == 0   ? Act::shorten
             : strcmp(act, "kill") == 0  ? Act::kill
             : strcmp(act, "after") == 0 ? Act::after
                                         : Act::fail;
  rule.error = error_number(act);
  if (rule.number < 1 || (rule.act == Act::fail && rule.error == 0)) refuse(call);
}

// Calls before this one, from the loader or a sanitizer, do not count.
__attribute__((constructor)) void start() {
  const char* root = getenv("HINGE_FAULT_ROOT");
  snprintf(g_root, sizeof g_root, "%s", root == nullptr ? "" : root);
  snprintf(g_files[STDIN_FILENO].path, kPathBytes, "<stdin>");
  snprintf(g_files[STDOUT_FILENO].path, kPathBytes, "<stdout>");
  g_files[STDOUT_FILENO].written = true;
  static char rules[1024];
  const char* given = getenv("HINGE_FAULT");
  snprintf(rules, sizeof rules, "%s", given == nullptr ? "" : given);
  char* save = nullptr;
  for (char* part = strtok_r(rules, ",", &save); part != nullptr;
       part = strtok_r(nullptr, ",", &save)) {
    add_rule(part);
  }
  g_started = true;
}

// The path below the root, or nullptr if it does not count.
const char* below_root(const char* path) {
  if (!g_started) return nullptr;
  if (path[0] != '/') return path;
  const size_t length = strlen(g_root);
  if (length == 0 || strncmp(path, g_root, length) != 0) return nullptr;
  if (path[length] == '\0') return ".";
  return path[length] == '/' ? path + length + 1 : nullptr;
}

const char* path_of(int fd) {
  return g_started && fd >= 0 && fd < kMaxFiles && g_files[fd].path[0] != '\0' ? g_files[fd].path
                                                                               : nullptr;
}

const char* memory() {
  return g_started ? "<memory>" : nullptr;
}

template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void die() {
  syscall(SYS_kill, getpid(), SIGKILL);
  while (true) pause();
}

// One call on its way: what shall happen to it, and the line in the log once it is over.
class Call {
 public:
  Call(const char* name, const char* path, bool changing)
      : name_(name), path_(path), changing_(changing) {
    if (path == nullptr) return;
    apply(name);
    if (changing) apply("any");
  }

  bool fails() const { return error_ != 0; }
  bool shortened() const { return shorten_; }

  // Forces EINTR on every other call; for read and write.
  void interrupt() {
    if (path_ != nullptr && g_all_eintr && g_interrupts.fetch_add(1) % 2 == 0) error_ = EINTR;
  }

  long finish(long result) {
    if (path_ == nullptr) return result;
    const int error = fails() ? error_ : errno;
    if (fails()) result = -1;
    if (g_log >= 0) {
      char line[kPathBytes + 64];
      const int size = snprintf(line, sizeof line, "%s %s %ld %s\n", name_, path_, result,
                                changing_ ? "changes" : "looks");
      syscall(SYS_write, g_log, line, size);
    }
    if (after_) die();
    errno = error;
    return result;
  }

 private:
  void apply(const char* name) {
    int index = 0;
    while (index < kCallCount && strcmp(kCalls[index], name) != 0) ++index;
    if (index == kCallCount) refuse(name);
    const long count = g_counts[index].fetch_add(1) + 1;
    for (int i = 0; i < g_rule_count; ++i) {
      const Rule& rule = g_rules[i];
      if (strcmp(rule.call, name) != 0) continue;
      if (count != rule.number && !(rule.onwards && count > rule.number)) continue;
      if (rule.act == Act::kill) die();
      if (rule.act == Act::after) after_ = true;
      if (rule.act == Act::shorten) shorten_ = true;
      if (rule.act == Act::fail) error_ = rule.error;
    }
  }

  const char* name_;
  const char* path_;
  bool changing_;
  int error_ = 0;
  bool shorten_ = false;
  bool after_ = false;
};

size_t shortened(const Call& call, const char* path, size_t size) {
  if (path == nullptr || size == 0) return size;
  if (g_all_short) return 1;
  return call.shortened() ? (size + 1) / 2 : size;
}

template <class Open>
int open_file(const char* path, int flags, Open really) {
  const char* const name = below_root(path);
  const bool written = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
  Call call("open", name, written);
  int fd = -1;
  if (!call.fails()) fd = really();
  if (fd >= 0 && fd < kMaxFiles && name != nullptr) {
    snprintf(g_files[fd].path, kPathBytes, "%s", name);
    g_files[fd].written = written;
  }
  return static_cast<int>(call.finish(fd));
}

template <class Function>
int on_descriptor(const char* name, int fd, bool changing, Function really) {
  Call call(name, path_of(fd), changing);
  const int result = call.fails() ? -1 : really();
  return static_cast<int>(call.finish(result));
}

template <class Function>
int on_path(const char* name, const char* path, bool changing, Function really) {
  Call call(name, below_root(path), changing);
  const int result = call.fails() ? -1 : really();
  return static_cast<int>(call.finish(result));
}

ssize_t read_some(int fd, void* data, size_t size) {
  static const auto really = next(&::read, "read");
  const char* const path = path_of(fd);
  Call call("read", path, false);
  call.interrupt();
  ssize_t result = -1;
  if (!call.fails()) result = really(fd, data, shortened(call, path, size));
  return call.finish(result);
}

mode_t mode_argument(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static const auto really = next(&::open, "open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return open_file(path, flags, [&] { return really(path, flags, mode); });
}

int open64(const char* path, int flags, ...) {
  static const auto really = next(&::open, "open64");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return open_file(path, flags, [&] { return really(path, flags, mode); });
}

// What open and read become where the compiler checks their arguments.
int __open_2(const char* path, int flags) {
  return open(path, flags);
}
int __open64_2(const char* path, int flags) {
  return open64(path, flags);
}
ssize_t __read_chk(int fd, void* data, size_t size, size_t) {
  return read_some(fd, data, size);
}

int openat(int folder, const char* path, int flags, ...) {
  static const auto really = next(&::openat, "openat");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return open_file(path, flags, [&] { return really(folder, path, flags, mode); });
}

int creat(const char* path, mode_t mode) {
  return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

ssize_t read(int fd, void* data, size_t size) {
  return read_some(fd, data, size);
}

ssize_t write(int fd, const void* data, size_t size) {
  static const auto really = next(&::write, "write");
  const char* const path = path_of(fd);
  Call call("write", path, true);
  call.interrupt();
  ssize_t result = -1;
  if (!call.fails()) result = really(fd, data, shortened(call, path, size));
  return call.finish(result);
}

int fsync(int fd) {
  static const auto really = next(&::fsync, "fsync");
  return on_descriptor("fsync", fd, true, [&] { return really(fd); });
}

int fdatasync(int fd) {
  static const auto really = next(&::fdatasync, "fdatasync");
  return on_descriptor("fdatasync", fd, true, [&] { return really(fd); });
}

int fchmod(int fd, mode_t mode) noexcept {
  static const auto really = next(&::fchmod, "fchmod");
  return on_descriptor("fchmod", fd, true, [&] { return really(fd, mode); });
}

int ftruncate(int fd, off_t size) noexcept {
  static const auto really = next(&::ftruncate, "ftruncate");
  return on_descriptor("ftruncate", fd, true, [&] { return really(fd, size); });
}

int fstat(int fd, struct stat* info) noexcept {
  static const auto really = next(static_cast<int (*)(int, struct stat*)>(&::fstat), "fstat");
  return on_descriptor("fstat", fd, false, [&] { return really(fd, info); });
}

// As in Linux, the descriptor is gone also when closing failed.
int close(int fd) {
  static const auto really = next(&::close, "close");
  char path[kPathBytes] = "";
  const bool counts = fd > STDERR_FILENO && path_of(fd) != nullptr;
  if (counts) snprintf(path, sizeof path, "%s", path_of(fd));
  Call call("close", counts ? path : nullptr, counts && g_files[fd].written);
  if (counts) g_files[fd].path[0] = '\0';
  return static_cast<int>(call.finish(really(fd)));
}

int rename(const char* from, const char* to) noexcept {
  static const auto really = next(&::rename, "rename");
  return on_path("rename", from, true, [&] { return really(from, to); });
}

int unlink(const char* path) noexcept {
  static const auto really = next(&::unlink, "unlink");
  return on_path("unlink", path, true, [&] { return really(path); });
}

int access(const char* path, int mode) noexcept {
  static const auto really = next(&::access, "access");
  return on_path("access", path, false, [&] { return really(path, mode); });
}

int stat(const char* path, struct stat* info) noexcept {
  static const auto really = next(static_cast<int (*)(const char*, struct stat*)>(&::stat), "stat");
  return on_path("stat", path, false, [&] { return really(path, info); });
}

// Memory taken by the program itself counts too; what the C library maps does not come this way.
void* mmap(void* where, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  static const auto really = next(&::mmap, "mmap");
  Call call("mmap", fd < 0 ? memory() : path_of(fd), false);
  if (call.fails()) {
    call.finish(-1);
    return MAP_FAILED;
  }
  void* const result = really(where, size, protection, flags, fd, offset);
  call.finish(result == MAP_FAILED ? -1 : 0);
  return result;
}

void* mremap(void* old, size_t old_size, size_t size, int flags, ...) noexcept {
  static const auto really = next(&::mremap, "mremap");
  va_list arguments;
  va_start(arguments, flags);
  void* const where = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  Call call("mremap", memory(), false);
  void* const result = call.fails() ? MAP_FAILED : really(old, old_size, size, flags, where);
  call.finish(result == MAP_FAILED ? -1 : 0);
  return result;
}

}  // extern "C"
