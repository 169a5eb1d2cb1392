#include "files/file_bytes.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace hinge {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

namespace {

constexpr int kMaxLinks = 40;

// Replaces a symbolic link by what it names; false if the path is none.
bool follow_link(std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_symlink(path, none)) return false;
  const std::filesystem::path target = std::filesystem::read_symlink(path, none);
  path = target.is_absolute() ? target.string() : folder_of(path) + "/" + target.string();
  return true;
}

struct Descriptor {
  explicit Descriptor(const std::string& path)
      // A pipe nobody writes to yet must not be waited for here.
      : fd(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd < 0) fail_errno("io.open", path, "open", errno);
    if (fstat(fd, &status) != 0) {
      const int reason = errno;
      close_it();
      fail_errno("io.read", path, "read", reason);
    }
    if (path != "-" && !S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
      close_it();
      fail("io.not-a-file",
           fmt::format("cannot read {}: not a regular file or pipe", escape(path)));
    }
  }
  ~Descriptor() { close_it(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void close_it() {
    if (fd > STDERR_FILENO) static_cast<void>(close(std::exchange(fd, -1)));
  }

  int fd;
  struct stat status {};
};

FileWriters writers_of(const struct stat& status) {
  return {status.st_uid, (status.st_mode & (S_IWGRP | S_IWOTH)) != 0};
}

void wait_for_bytes(int fd, const StopToken& stop) {
  pollfd request = {fd, POLLIN, 0};
  do {
    stop.poll();
  } while (poll(&request, 1, 100) <= 0);
}

}  // namespace

std::string resolve_links(std::string path) {
  for (int depth = 0; depth < kMaxLinks && follow_link(path); ++depth) {
  }
  return path;
}

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

FileVersion version_of(const struct stat& status) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

std::string_view first_bytes(const std::string& path, std::span<char> into) {
  struct stat status {};
  if (path == "-" || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (access(path.c_str(), R_OK) != 0) return {};
  const Descriptor file(path);
  std::size_t have = 0;
  while (have < into.size()) {
    const ssize_t found = read(file.fd, into.data() + have, into.size() - have);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) fail_read(path, errno, have);
    if (found == 0) break;
    have += static_cast<std::size_t>(found);
  }
  return {into.data(), have};
}

FileBytes::~FileBytes() {
  if (fd_ < 0) return;
  static_cast<void>(munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()));
  static_cast<void>(close(fd_));
}

FileBytes::FileBytes(FileBytes&& other) noexcept {
  swap(other);
}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  swap(other);
  return *this;
}

void FileBytes::swap(FileBytes& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  std::swap(owned_, other.owned_);
  std::swap(fd_, other.fd_);
  std::swap(version_, other.version_);
  std::swap(writers_, other.writers_);
}

FileBytes FileBytes::read(const std::string& path,
                          const std::function<void(std::span<const std::byte>)>& check_head,
                          const StopToken& stop) {
  const Descriptor file(path);
  constexpr std::size_t kStep = std::size_t{1} << 20;
  FileBytes out;
  out.path_ = path;
  out.writers_ = writers_of(file.status);
  Buffer<std::byte>& bytes = out.owned_;
  for (std::size_t have = 0;;) {
    // A little at first: what does not begin as it should is not read any further.
    bytes.resize(
        std::max(have + kStep, have == 0 ? 0 : static_cast<std::size_t>(file.status.st_size) + 1));
    if (!S_ISREG(file.status.st_mode)) wait_for_bytes(file.fd, stop);
    const ssize_t count = ::read(file.fd, bytes.data() + have, bytes.size() - have);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) fail_read(path, errno, have);
    if (have == 0) check_head(bytes.span().first(static_cast<std::size_t>(count)));
    have += static_cast<std::size_t>(count);
    if (count == 0) {
      bytes.resize(have);
      out.bytes_ = bytes.span();
      return out;
    }
  }
}

FileBytes FileBytes::map(const std::string& path) {
  // Opening a pipe would wait for its writer.
  if (struct stat status{}; stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    fail("io.not-a-file", fmt::format("cannot read {}: not a regular file", escape(path)));
  }
  Descriptor file(path);
  const auto size = static_cast<std::size_t>(file.status.st_size);
  const auto nothing = [](std::span<const std::byte>) {};
  if (size == 0) return read(path, nothing);
  void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) return read(path, nothing);  // some file systems cannot map
  // Only advice: fewer, larger pages where the file system has them.
  static_cast<void>(madvise(data, size, MADV_HUGEPAGE));
  FileBytes out;
  out.path_ = path;
  out.bytes_ = {static_cast<const std::byte*>(data), size};
  out.version_ = version_of(file.status);
  out.writers_ = writers_of(file.status);
  out.fd_ = std::exchange(file.fd, -1);
  return out;
}

FileBytes FileBytes::copy(std::span<const std::byte> bytes) {
  FileBytes out;
  out.owned_.append(bytes.data(), bytes.size());
  out.bytes_ = out.owned_.span();
  return out;
}

void FileBytes::check_unchanged() const {
  if (fd_ < 0) return;
  struct stat now {};
  if (fstat(fd_, &now) != 0) fail_errno("io.read", path_, "read", errno);
  if (version_of(now) != version_) {
    fail("io.changed", fmt::format("{} changed while it was read", escape(path_)));
  }
}

}  // namespace hinge
