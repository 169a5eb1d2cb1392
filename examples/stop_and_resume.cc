// Trains for as long as it is let, and goes on from there the next time, to the very same model.
//
//   stop_and_resume DATA MODEL CHECKPOINT [LINES]
//
// Ctrl-C ends it. With LINES it ends by itself after so many lines, to see that happen where
// training takes no time: 4, say, for the state it leaves is a line or two behind.
#include <hinge/checkpoint.h>
#include <hinge/train.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

int fail(const hinge::Error& error) {
  std::fprintf(stderr, "%s\n", hinge::to_string(error).c_str());
  return hinge::exit_code(error);
}

std::atomic<bool> stop = false;

extern "C" void end_soon(int) {
  stop = true;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4 && count != 5) {
    std::fprintf(stderr, "usage: %s DATA MODEL CHECKPOINT [LINES]\n", arguments[0]);
    return 64;
  }
  const std::string data_path = arguments[1], model_path = arguments[2], kept = arguments[3];
  const int lines = count == 5 ? std::atoi(arguments[4]) : 0;

  std::signal(SIGINT, end_soon);
  std::vector<hinge::Error> warnings;
  const auto data = hinge::read_dataset(data_path, {.stop = &stop}, warnings);
  if (!data) return fail(data.error());

  // Training tells the observer how far it is, looks at the flag, and leaves its state in the file
  // CHECKPOINT from time to time: every ten seconds here, or whenever it can.
  hinge::TrainControl control;
  control.stop = &stop;
  control.checkpoint = {.path = kept, .seconds = lines > 0 ? 0.0 : 10.0};
  control.observer = [lines, said = 0](const hinge::Progress& progress) mutable {
    if (progress.primal == 0) return;  // only a sign of life
    std::printf("after %.1f passes: gap %.1e\n", progress.data_passes, progress.relative_gap);
    if (++said == lines) stop = true;
  };
  if (hinge::looks_like_checkpoint(kept)) control.resume = kept;

  // Rows and options must be those of the run that is resumed; else this fails and says what
  // differs.
  const auto run = hinge::train(*data, {.cost = 1, .gap = 1e-6}, control);
  if (!run) return fail(run.error());
  for (const hinge::Error& w : run->warnings) {
    std::fprintf(stderr, "%s\n", hinge::to_string(w).c_str());
  }

  // The model can be used either way: one that was interrupted is the best so far.
  const auto saved = hinge::save_model(run->model, model_path);
  if (!saved) return fail(saved.error());
  if (run->status == hinge::StopReason::converged) {
    std::remove(kept.c_str());  // nothing is left to go on with
    std::remove((kept + ".previous").c_str());
    std::printf("done\n");
  } else {
    std::printf("not done (%s): run it again to go on\n", run->why.c_str());
  }
  return 0;
}
