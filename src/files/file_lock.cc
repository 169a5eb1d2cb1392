#include "files/file_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace hinge {
namespace {

// The process that wrote its number into the file; 0: none did.
long holder(int fd) {
  char text[32];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  long number = 0;
  if (size > 0) std::from_chars(text, text + size, number);
  return number > 0 ? number : 0;
}

// Whoever held the lock last may have removed the file between our opening and locking it.
bool still_there(int fd, const std::string& path) {
  struct stat ours {
  }, there{};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
         ours.st_ino == there.st_ino;
}

}  // namespace

FileLock::FileLock(std::string path, std::vector<Error>& warnings) : path_(std::move(path)) {
  while (fd_ < 0) {
    const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) fail_errno("io.create", path_, "create", errno);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      const long other = holder(fd);
      static_cast<void>(close(fd));
      if (reason == EINTR) continue;
      if (reason != EWOULDBLOCK) fail_errno("io.create", path_, "lock", reason);
      fail("lock.held",
           other == 0 ? fmt::format("{} is held by another process", escape(path_))
                      : fmt::format("{} is held by process {}", escape(path_), other),
           "wait until it ends, or choose another name for the checkpoint");
    }
    if (still_there(fd, path_)) {
      fd_ = fd;
    } else {
      static_cast<void>(close(fd));
    }
  }
  struct stat status {};
  const long before = holder(fd_);
  if (before == 0 && (fstat(fd_, &status) != 0 || status.st_size > 0)) {
    static_cast<void>(close(std::exchange(fd_, -1)));
    fail("io.create", fmt::format("{} is there, and is no lock", escape(path_)),
         "choose another name for the checkpoint");
  }
  if (before != 0) {
    warnings.push_back(make_warning(
        "lock.stale", fmt::format("{} was left by process {}, which is no more; taken over",
                                  escape(path_), before)));
  }
  // Only for people to read: what counts is the lock.
  const std::string text = fmt::format("{}\n", getpid());
  if (ftruncate(fd_, 0) == 0) static_cast<void>(!pwrite(fd_, text.data(), text.size(), 0));
}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  static_cast<void>(unlink(path_.c_str()));  // while it is still ours
  static_cast<void>(close(fd_));
}

}  // namespace hinge
