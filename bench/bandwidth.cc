// bandwidth THREADS     bytes per second that so many threads can read from memory, best of several
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

int main(int count, char** words) {
  const std::size_t threads = count > 1 ? std::strtoul(words[1], nullptr, 10) : 1;
  constexpr std::size_t kWords = std::size_t{1} << 26;  // 512 MiB, more than any cache holds
  std::vector<std::uint64_t> memory(kWords, 1);
  std::vector<std::uint64_t> sums(threads * 64);
  double best = 0;
  for (int turn = 0; turn < 8; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> team;
    for (std::size_t k = 0; k < threads; ++k) {
      team.emplace_back([&, k] {
        const auto part = [&](std::size_t i) {
          return memory.begin() + static_cast<std::ptrdiff_t>(kWords / threads * i);
        };
        sums[k * 64] = std::accumulate(part(k), part(k + 1), std::uint64_t{0});
      });
    }
    for (std::thread& one : team) one.join();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kWords * 8) / seconds.count());
  }
  // The sum is looked at, or nobody would have to make it.
  if (std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) == 0) return 1;
  std::printf("%.0f\n", best);
  return 0;
}
