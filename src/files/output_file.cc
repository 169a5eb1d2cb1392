// Implements hinge/files.h. Order of the steps that make a file appear whole or not at all:
// open temp (O_EXCL) -> lock -> write -> fsync -> fchmod -> rename -> fsync folder. The kernel
// takes the lock off when its holder dies, so a temporary file that nobody holds is a leftover.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "base/error.h"
#include "files/checksum.h"
#include "files/file_bytes.h"
#include "hinge/files.h"

namespace hinge {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

mode_t current_umask() {
  // There is no call that only reads the mask; /proc tells it without changing it for other
  // threads. Where it does not, nobody else may read the file.
  if (FILE* status = std::fopen("/proc/self/status", "re")) {
    char line[128];
    unsigned mask = 077;
    while (std::fgets(line, sizeof line, status) != nullptr) {
      if (std::sscanf(line, "Umask: %o", &mask) == 1) break;
    }
    static_cast<void>(std::fclose(status));
    return static_cast<mode_t>(mask);
  }
  return 077;
}

// A signal may come before a call has done anything; then it is made again.
template <class Call>
int uninterrupted(Call call) {
  int result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// write(), but a reader that goes away is an error, not the end of the program.
ssize_t write_to_pipe(int fd, std::string_view bytes) {
  sigset_t broken, before, pending;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &broken, &before);
  const ssize_t count = ::write(fd, bytes.data(), bytes.size());
  const int reason = errno;
  constexpr timespec kNow = {0, 0};
  if (count < 0 && reason == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    static_cast<void>(sigtimedwait(&broken, nullptr, &kNow));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = reason;
  return count;
}

// ---- Temporary files: NAME.tmp.0123456789abcdef in the folder of NAME. Of a name too long for
// that there is a part, and the checksum of all of it.
constexpr std::string_view kMark = ".tmp.";
constexpr std::size_t kDigits = 16;

std::string digits(std::uint64_t number) {
  return fmt::format("{:0{}x}", number, kDigits);
}

// What the names of all temporary files of a target begin with, folder and all.
std::string temporary_prefix(const std::string& folder, const std::string& target) {
  const std::size_t slash = target.rfind('/') + 1;  // 0 without one
  std::string name = target.substr(slash);
  const long limit = pathconf(folder.c_str(), _PC_NAME_MAX);
  const std::size_t most = limit > 0 ? static_cast<std::size_t>(limit) : NAME_MAX;
  const std::size_t more = kMark.size() + kDigits;
  if (name.size() + more > most && name.size() <= most) {
    const std::uint64_t sum = checksum(std::as_bytes(std::span(name)));
    std::size_t end = most - std::min(most, more + 1 + kDigits);
    // Some file systems take whole letters of UTF-8 only.
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
    name = name.substr(0, end) + "~" + digits(sum);
  }
  return target.substr(0, slash) + name + std::string(kMark);
}

std::string temporary_name(const std::string& prefix, int attempt) {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    number = static_cast<std::uint64_t>(now) + (static_cast<std::uint64_t>(getpid()) << 40) +
             static_cast<std::uint64_t>(attempt);
  }
  return prefix + digits(number);
}

// Whether a new temporary file is ours: whoever cleans up may have seen it before it was locked.
bool hold(int fd) {
  const int locked = uninterrupted([&] { return flock(fd, LOCK_EX | LOCK_NB); });
  if (locked != 0 && errno == EWOULDBLOCK) return false;
  struct stat info {};
  return fstat(fd, &info) != 0 || info.st_nlink > 0;
}

// Whether locks on this file are seen by everybody who can see it: those of a network may not be.
bool locks_are_seen(int fd) {
  constexpr unsigned long kXfs = 0x58465342, kZfs = 0x2FC12FC1, kBcachefs = 0xCA451A4E;
  constexpr unsigned long kLocal[] = {EXT4_SUPER_MAGIC,      kXfs, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
                                      OVERLAYFS_SUPER_MAGIC, kZfs, F2FS_SUPER_MAGIC,  kBcachefs};
  struct statfs info {};
  if (fstatfs(fd, &info) != 0) return false;
  const auto type = static_cast<unsigned long>(static_cast<unsigned int>(info.f_type));
  return std::ranges::find(kLocal, type) != std::end(kLocal);
}

void remove_leftover(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  struct stat info {};
  const bool ours = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid();
  if (ours && flock(fd, LOCK_EX | LOCK_NB) == 0) static_cast<void>(unlink(path.c_str()));
  static_cast<void>(close(fd));
}

// Removes what processes that were killed have left beside `own`. What cannot be removed stays: it
// is in nobody's way.
void remove_leftovers(const std::string& folder, const std::string& prefix,
                      const std::string& own) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (entries == nullptr) return;
  const std::size_t slash = prefix.rfind('/') + 1;
  const std::string_view begin = std::string_view(prefix).substr(slash);
  while (const dirent* const entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() != begin.size() + kDigits || !name.starts_with(begin)) continue;
    if (name.substr(begin.size()).find_first_not_of("0123456789abcdef") != name.npos) continue;
    const std::string path = prefix.substr(0, slash) + std::string(name);
    if (path != own) remove_leftover(path);
  }
}

// Linux closes the descriptor also when a signal comes meanwhile.
int close_once(int fd) {
  const int result = close(fd);
  return result != 0 && errno == EINTR ? 0 : result;
}

void check(int result, std::string_view doing, const std::string& path, const char* id) {
  if (result == 0) return;
  const int reason = errno;
  fail(id, fmt::format("cannot {} {}: {}", doing, escape(path), errno_text(reason)));
}

}  // namespace

OutputFile::~OutputFile() {
  abandon();
}

OutputFile::OutputFile(OutputFile&& other) noexcept {
  *this = std::move(other);
}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(target_, other.target_);
  std::swap(folder_, other.folder_);
  std::swap(temporary_, other.temporary_);
  std::swap(buffer_, other.buffer_);
  std::swap(written_, other.written_);
  std::swap(fd_, other.fd_);
  std::swap(only_owner_writes_, other.only_owner_writes_);
  std::swap(held_, other.held_);
  std::swap(pipe_, other.pipe_);
  return *this;
}

void OutputFile::abandon() noexcept {
  if (!temporary_.empty()) static_cast<void>(unlink(temporary_.c_str()));  // while it is held
  temporary_.clear();
  if (fd_ > STDERR_FILENO) static_cast<void>(close(fd_));
  if (held_ >= 0) static_cast<void>(close(held_));
  fd_ = held_ = -1;
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  return guard([&] {
    OutputFile out;
    out.path_ = path;
    struct stat info {};
    if (path.empty()) fail("io.create", "cannot create a file without a name");
    if (path == "-") {
      out.fd_ = STDOUT_FILENO;
      return out;
    }
    if (const int descriptor = descriptor_behind(path); descriptor >= 0) {
      out.fd_ = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      if (out.fd_ < 0) fail_errno("io.create", path, "write", errno);
      return out;
    }
    const bool there = stat(path.c_str(), &info) == 0;
    if (!there && errno == ELOOP) fail_errno("io.create", path, "write", ELOOP);
    if (there && !S_ISREG(info.st_mode)) {
      if (S_ISDIR(info.st_mode)) {
        fail("io.create", fmt::format("cannot write {}: it is a folder", escape(path)));
      }
      out.pipe_ = S_ISFIFO(info.st_mode);
      out.fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);  // waits for a reader of a pipe
      if (out.fd_ < 0 && errno == EINTR) {
        fail("run.interrupted", fmt::format("interrupted: nobody reads {}", escape(path)));
      }
      if (out.fd_ < 0) fail_errno("io.create", path, "write", errno);
      return out;
    }
    out.target_ = resolve_links(path);
    out.folder_ = folder_of(out.target_);  // here and not in commit(), which then takes no memory
    // An existing file that may not be written must not be replaced either.
    if (access(out.target_.c_str(), F_OK) == 0 && access(out.target_.c_str(), W_OK) != 0) {
      fail_errno("io.create", path, "write", errno);
    }
    const std::string prefix = temporary_prefix(out.folder_, out.target_);
    for (int attempt = 0; attempt < 100 && out.fd_ < 0; ++attempt) {
      std::string name = temporary_name(prefix, attempt);
      out.fd_ = uninterrupted([&] {
        return open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
      });
      if (out.fd_ >= 0) {
        out.temporary_ = std::move(name);  // a copy could fail and leave the file behind
        if (!hold(out.fd_)) out.abandon();
        errno = EEXIST;
      } else if (errno != EEXIST) {
        break;
      }
    }
    if (out.fd_ < 0) fail_errno("io.create", path, "create", errno);
    if (locks_are_seen(out.fd_)) remove_leftovers(out.folder_, prefix, out.temporary_);
    return out;
  });
}

Result<void> OutputFile::write(std::string_view bytes) {
  return guard([&] {
    if (buffer_.size() + bytes.size() < kBufferBytes) {
      buffer_.append(bytes);
    } else {
      take(flush());
      take(send(bytes));
    }
  });
}

Result<void> OutputFile::flush() {
  Result<void> sent = send(buffer_);
  buffer_.clear();
  return sent;
}

Result<void> OutputFile::send(std::string_view bytes) {
  return guard([&] {
    int in_vain = 0;  // signals since the reader of a pipe took anything
    while (!bytes.empty()) {
      const ssize_t count =
          pipe_ ? write_to_pipe(fd_, bytes) : ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) {
        if (!pipe_ || ++in_vain < 2) continue;
        fail("run.interrupted",
             fmt::format("interrupted: nobody reads on in {} (wrote {} of {} bytes)", escape(path_),
                         written_, written_ + bytes.size()));
      }
      in_vain = 0;
      if (count <= 0) {
        const int reason = count < 0 ? errno : ENOSPC;
        fail("io.write", fmt::format("cannot write {}: {} (wrote {} of {} bytes)", escape(path_),
                                     errno_text(reason), written_, written_ + bytes.size()));
      }
      written_ += static_cast<std::uint64_t>(count);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  });
}

Result<void> OutputFile::sync() {
  return guard([&] {
    take(flush());
    if (temporary_.empty() || fd_ < 0) return;
    check(uninterrupted([&] { return fsync(fd_); }), "sync", path_, "io.write");
    struct stat old {};
    mode_t mode = stat(target_.c_str(), &old) == 0
                      ? old.st_mode & 0777  // who runs as whom is for people to grant
                      : static_cast<mode_t>(0666) & ~current_umask();
    if (only_owner_writes_) mode &= ~static_cast<mode_t>(S_IWGRP | S_IWOTH);
    check(uninterrupted([&] { return fchmod(fd_, mode); }), "set the mode of", path_, "io.write");
    // Closing may still find an error, and must not give up the lock before the rename.
    held_ = fcntl(fd_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    check(held_ < 0 ? -1 : 0, "keep hold of", path_, "io.write");
    check(close_once(std::exchange(fd_, -1)), "write", path_, "io.write");
  });
}

Result<void> OutputFile::commit() {
  return guard([&] {
    take(sync());
    if (temporary_.empty()) {
      if (fd_ > STDERR_FILENO)
        check(close_once(std::exchange(fd_, -1)), "write", path_, "io.write");
      return;
    }
    check(rename(temporary_.c_str(), target_.c_str()), "rename onto", path_, "io.write");
    temporary_.clear();
    static_cast<void>(close(std::exchange(held_, -1)));
    const int folder =
        uninterrupted([&] { return open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    // A folder that may be written but not read cannot be synced.
    if (folder < 0 && errno == EACCES) return;
    const int result = folder < 0 ? -1 : uninterrupted([&] { return fsync(folder); });
    const int reason = errno;
    if (folder >= 0) static_cast<void>(close(folder));
    errno = reason;
    // Some file systems cannot sync a folder (EINVAL); there the rename is as durable as it gets.
    if (result != 0 && reason != EINVAL) check(result, "sync the folder of", path_, "io.sync");
  });
}

Result<void> check_output(const std::string& path) {
  return guard([&] {
    struct stat info {};
    if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
      // Opening a pipe would wait for its reader, and closing it again end the reader's input.
      if (access(path.c_str(), W_OK) != 0) fail_errno("io.create", path, "write", errno);
      return;
    }
    static_cast<void>(take(OutputFile::create(path)));
  });
}

bool same_file(const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (a == "-" || b == "-" || a.empty() || b.empty()) return false;
  std::error_code none, bad_a, bad_b;
  if (std::filesystem::equivalent(a, b, none)) return true;
  const auto path_a = std::filesystem::weakly_canonical(std::filesystem::absolute(a, bad_a), bad_a);
  const auto path_b = std::filesystem::weakly_canonical(std::filesystem::absolute(b, bad_b), bad_b);
  return !bad_a && !bad_b && path_a == path_b;
}

}  // namespace hinge
