// Implements hinge/files.h. Order of the steps that make a file appear whole or not at all:
// open temp (O_EXCL) -> write -> fsync -> fchmod -> rename -> fsync folder.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "hinge/files.h"

namespace hinge {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

constexpr int kMaxLinks = 40;

// Replaces a symbolic link by what it names; false if the path is none.
bool follow_link(std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_symlink(path, none)) return false;
  const std::filesystem::path target = std::filesystem::read_symlink(path, none);
  path = target.is_absolute() ? target.string() : folder_of(path) + "/" + target.string();
  return true;
}

// Follows symbolic links, also to files that do not exist yet, so that a model that is a link stays
// one.
std::string resolve_links(std::string path) {
  for (int depth = 0; depth < kMaxLinks && follow_link(path); ++depth) {
  }
  return path;
}

// /dev/stdout and its like name an open descriptor; whatever file is behind it belongs to whoever
// opened it and is not to be replaced. -1: not such a name.
int descriptor_behind(std::string path) {
  for (int depth = 0; depth < kMaxLinks; ++depth) {
    for (const std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
      if (!path.starts_with(folder)) continue;
      int fd = -1;
      const char* const end = path.data() + path.size();
      const auto result = std::from_chars(path.data() + folder.size(), end, fd);
      return result.ec == std::errc() && result.ptr == end ? fd : -1;
    }
    if (!follow_link(path)) return -1;
  }
  return -1;
}

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
  return *this;
}

void OutputFile::abandon() noexcept {
  if (fd_ > STDERR_FILENO) static_cast<void>(close(fd_));
  fd_ = -1;
  if (!temporary_.empty()) static_cast<void>(unlink(temporary_.c_str()));
  temporary_.clear();
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
    if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
      if (S_ISDIR(info.st_mode)) {
        fail("io.create", fmt::format("cannot write {}: it is a folder", escape(path)));
      }
      out.fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (out.fd_ < 0) fail_errno("io.create", path, "write", errno);
      return out;
    }
    out.target_ = resolve_links(path);
    out.folder_ = folder_of(out.target_);  // here and not in commit(), which then takes no memory
    // An existing file that may not be written must not be replaced either.
    if (access(out.target_.c_str(), F_OK) == 0 && access(out.target_.c_str(), W_OK) != 0) {
      fail_errno("io.create", path, "write", errno);
    }
    for (int attempt = 0; attempt < 100 && out.fd_ < 0; ++attempt) {
      std::string name = fmt::format("{}.tmp.{}.{}", out.target_, getpid(), attempt);
      out.fd_ = uninterrupted([&] {
        return open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
      });
      if (out.fd_ >= 0) {
        out.temporary_ = std::move(name);  // a copy could fail and leave the file behind
      } else if (errno != EEXIST) {
        break;
      }
    }
    if (out.fd_ < 0) fail_errno("io.create", path, "create", errno);
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
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
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
    mode_t mode = stat(target_.c_str(), &old) == 0 ? old.st_mode & 07777
                                                   : static_cast<mode_t>(0666) & ~current_umask();
    if (only_owner_writes_) mode &= ~static_cast<mode_t>(S_IWGRP | S_IWOTH);
    check(uninterrupted([&] { return fchmod(fd_, mode); }), "set the mode of", path_, "io.write");
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
