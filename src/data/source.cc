#include "data/source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <glob.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace hinge {

std::vector<std::string> expand_source(const std::string& source) {
  if (source == "-" || access(source.c_str(), F_OK) == 0 ||
      source.find_first_of("*?[") == std::string::npos) {
    return {source};
  }
  glob_t found{};
  const int result = glob(source.c_str(), 0, nullptr, &found);
  std::vector<std::string> files;
  if (result == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (files.empty()) {
    fail("io.open", fmt::format("cannot open {}: no file matches the pattern", escape(source)));
  }
  return files;
}

ByteSource::ByteSource(const std::string& path, const std::atomic<bool>* stop)
    : name_(path == "-" ? "<stdin>" : path), stop_(stop) {
  struct stat status {};
  const bool standard = path == "-";
  // Looked at before it is opened: opening a socket fails, opening a pipe may wait for ever.
  if ((standard ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status)) != 0) {
    fail_errno(standard ? "io.read" : "io.open", name_, standard ? "read" : "open", errno);
  }
  regular_ = S_ISREG(status.st_mode);
  if (S_ISDIR(status.st_mode) || (!regular_ && !S_ISFIFO(status.st_mode) && !standard)) {
    fail("io.not-a-file",
         fmt::format("cannot read {}: {}", escape(path),
                     S_ISDIR(status.st_mode) ? "it is a folder" : "not a regular file or pipe"));
  }
  fd_ = standard ? STDIN_FILENO
                 : open(path.c_str(), O_RDONLY | O_CLOEXEC | (regular_ ? 0 : O_NONBLOCK));
  if (fd_ < 0) fail_errno("io.open", path, "open", errno);
  if (regular_) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    modified_[0] = status.st_mtim.tv_sec;
    modified_[1] = status.st_mtim.tv_nsec;
    static_cast<void>(posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL));
  }
}

ByteSource::~ByteSource() {
  if (fd_ > STDERR_FILENO) static_cast<void>(close(fd_));
}

std::size_t ByteSource::read(std::span<char> into) {
  std::size_t have = 0;
  while (have < into.size()) {
    if (!regular_) wait_for_bytes();
    const ssize_t count = ::read(fd_, into.data() + have, into.size() - have);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) {
      const int reason = errno;
      fail("io.read", fmt::format("cannot read {}: {} (at byte {})", escape(name_),
                                  errno_text(reason), read_ + have));
    }
    if (count == 0) {
      read_ += have;
      check_unchanged();
      return have;
    }
    have += static_cast<std::size_t>(count);
  }
  read_ += have;
  return have;
}

// A pipe may be silent for hours; whoever waits for it must still notice a signal.
void ByteSource::wait_for_bytes() const {
  pollfd request = {fd_, POLLIN, 0};
  do {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) {
      fail("run.interrupted", fmt::format("interrupted while reading {}", escape(name_)));
    }
  } while (poll(&request, 1, 100) <= 0);
}

void ByteSource::check_unchanged() const {
  if (!regular_) return;
  struct stat now {};
  if (fstat(fd_, &now) != 0) fail_errno("io.read", name_, "read", errno);
  if (static_cast<std::uint64_t>(now.st_size) != size_ || now.st_mtim.tv_sec != modified_[0] ||
      now.st_mtim.tv_nsec != modified_[1]) {
    fail("io.changed", fmt::format("{} changed while it was read", escape(name_)));
  }
}

}  // namespace hinge
