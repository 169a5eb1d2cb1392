// One process at a time: a lock that the kernel frees when its holder ends, however it ends.
#pragma once

#include <string>
#include <vector>

#include "hinge/result.h"

namespace hinge {

class FileLock {
 public:
  // Creates `path`, with the number of this process in it, and locks it. Where another process
  // holds it, fails with lock.held; a file that nobody holds was left by a process that died, and
  // is taken over with a warning (lock.stale). A file with anything but such a number in it is
  // somebody's, and stays as it is (io.create). Throws Failure.
  FileLock(std::string path, std::vector<Error>& warnings);
  ~FileLock();  // removes the file
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace hinge
