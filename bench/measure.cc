// measure LIMIT PROGRAM ARGUMENT...
//
// Runs the program, ends it after LIMIT seconds, and adds a line "SECONDS PEAK STATUS" to stderr:
// wall time, its largest resident memory in bytes, its exit status (-1: ended by a signal). The
// kernel counts towards a program's peak what its parent held when it made it, so that the parent
// had better be small: this one, and not a Python with a data set in its arms.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

volatile sig_atomic_t child = 0;

void end_child(int) { kill(child, SIGKILL); }

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fputs("usage: measure LIMIT PROGRAM ARGUMENT...\n", stderr);
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  child = fork();
  if (child == 0) {
    execvp(words[2], words + 2);
    std::perror(words[2]);
    _exit(127);
  }
  signal(SIGALRM, end_child);
  signal(SIGTERM, end_child);
  alarm(static_cast<unsigned>(std::atoi(words[1])));
  int status = 0;
  rusage used{};
  while (wait4(child, &status, 0, &used) < 0) {
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "\n%.6f %ld %d\n", seconds.count(), used.ru_maxrss * 1024,
               WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return 0;
}
