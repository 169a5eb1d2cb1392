#include "base/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "hinge/json.h"

namespace hinge {
namespace {

constexpr int kUsage = 64, kData = 65, kNoInput = 66, kUnavailable = 69, kInternal = 70,
              kCantCreate = 73, kIo = 74, kRetry = 75, kProtocol = 76, kPermission = 77,
              kCorrupt = 80, kMemory = 81, kNumeric = 82, kSignal = 130;

// Every id there is, sorted. `hinge explain ID` prints a row; the exit code of an error is its
// row's.
constexpr auto kCatalogue = std::to_array<ErrorInfo>({
    {"cache.checksum", kCorrupt, "A checksum of the binary data set does not match.",
     "The file was damaged. Convert the text again; a cache can simply be deleted."},
    {"cache.content", kCorrupt, "The binary data set holds values that make no sense.",
     "The file was not written by hinge. Convert the text again."},
    {"cache.endian", kCorrupt, "The binary data set was written with big-endian numbers.",
     "hinge reads little-endian files only. Convert the text again."},
    {"cache.header", kCorrupt, "The header of the binary data set is not one hinge writes.",
     "The file was damaged, or not written by hinge. Convert the text again."},
    {"cache.magic", kCorrupt, "The file is not a binary data set of hinge.",
     "Check that the right file was given: a model is not data."},
    {"cache.owner", kCorrupt, "The cache may have been written by somebody else.",
     "Its rows are taken for those of the text, so it must belong to you or the superuser and "
     "nobody else may write to it. Delete it, or take these rights away: `chmod go-w`."},
    {"cache.stale", kCorrupt,
     "The text changed since the cache was made, or another version of hinge made it.",
     "It is rebuilt by itself, unless --cache=strict was given."},
    {"cache.trailing", kCorrupt, "The binary data set has bytes after its end.",
     "The file was damaged. Convert the text again; a cache can simply be deleted."},
    {"cache.truncated", kCorrupt, "The binary data set is cut off.",
     "Copy it again, or convert the text again; a cache can simply be deleted."},
    {"cache.version", kCorrupt, "The binary data set was written by a newer hinge.",
     "Update hinge, or convert the text again."},
    {"cache.write", 0, "The cache could not be written; the run went on without it.",
     "Make the folder of the data writable, or do without --cache."},
    {"certificate.skipped", 0,
     "The run was interrupted, and how good the model is takes too long to compute.",
     "The model is the best found. `hinge verify MODEL DATA` computes its gap."},
    {"check.constant", 0, "Some columns hold the same value in every row.",
     "They act as a bias and teach nothing else; leave them out or use --bias."},
    {"check.contradictions", 0, "The same features occur with different labels.",
     "No model can get all of these rows right. Check how labels were made."},
    {"check.duplicates", 0, "Some rows occur more than once.",
     "Harmless in training, but rows that are in training and test data alike flatter a model."},
    {"check.imbalance", 0, "A class is much rarer than its share would be.",
     "Consider --class-weight balanced, and judge by F1 rather than accuracy."},
    {"check.one-class", 0, "All rows have the same label.",
     "Training needs rows of at least two classes."},
    {"check.scale", 0, "Columns differ wildly in scale.",
     "The small ones hardly count. Scale the columns to similar ranges."},
    {"checkpoint.checksum", kCorrupt, "A checksum of the checkpoint does not match.",
     "The file was damaged, and so was the one before it, FILE.previous. Train from the start."},
    {"checkpoint.content", kCorrupt, "The checkpoint holds values that make no sense.",
     "The file was not written by hinge. Train from the start."},
    {"checkpoint.endian", kCorrupt, "The checkpoint was written with big-endian numbers.",
     "hinge reads little-endian files only. Go on where it was written."},
    {"checkpoint.exists", 0, "A checkpoint was there already; training began anew and replaces it.",
     "Interrupt, and give --resume FILE to go on from it."},
    {"checkpoint.header", kCorrupt, "The header of the checkpoint is not one hinge writes.",
     "The file was damaged, or not written by hinge. Train from the start."},
    {"checkpoint.magic", kCorrupt, "The file is not a checkpoint of hinge.",
     "Check that the right file was given to --resume."},
    {"checkpoint.mismatch", kCorrupt,
     "The checkpoint is of another version of hinge, of other data, or of other options.",
     "Go on with those it was written with, or begin anew without --resume."},
    {"checkpoint.previous", 0,
     "The newest checkpoint is damaged or missing; the run went on from the one before it.",
     "Nothing needs doing, but check the disk."},
    {"checkpoint.trailing", kCorrupt, "The checkpoint has bytes after its end.",
     "The file was damaged, and so was the one before it, FILE.previous. Train from the start."},
    {"checkpoint.truncated", kCorrupt, "The checkpoint is cut off.",
     "The file was damaged, and so was the one before it, FILE.previous. Train from the start."},
    {"checkpoint.write", 0, "Checkpoints could not be written; training went on without them.",
     "Make room on the disk: the last good checkpoint is still there, but grows old."},
    {"data.all-zero", 0, "No row has a feature that is not zero.",
     "The model can only be a bias. Check that the right file was given."},
    {"data.byte", kData, "A row holds a byte that cannot occur in libsvm text.",
     "Remove the byte; often it is a no-break space or a typographic minus from a document."},
    {"data.bzip2", kData, "The bzip2 stream is damaged or cut off.",
     "Copy or compress the file again; `bzip2 -t FILE` tests it."},
    {"data.empty", kData, "The input has no rows.", "Check that the right file was given."},
    {"data.encoding", kData, "The file is not plain text in an encoding hinge reads.",
     "Give libsvm text in ASCII or UTF-8, plain or compressed; unpack archives first."},
    {"data.folds", kData, "Cross-validation needs every class in every training part.",
     "Use fewer folds, or leave out the classes with fewer rows than folds."},
    {"data.groups", kData, "The groups are not one a row.",
     "A file of groups has a line for every row, in the order of the rows."},
    {"data.gzip", kData, "The gzip stream is damaged or cut off.",
     "Copy or compress the file again; `gzip -t FILE` tests it."},
    {"data.index", kData, "A feature index is not a whole number.",
     "Write features as index:value with a decimal whole index, such as 7:0.25."},
    {"data.index.duplicate", kData, "A row names the same feature twice.",
     "Merge the two entries; hinge neither adds them up nor takes the last."},
    {"data.index.negative", kData, "A feature index is negative.",
     "Indices start at 1 (or at 0, see --index-base)."},
    {"data.index.order", kData, "The indices of a row do not ascend and --strict was given.",
     "Sort the row, or drop --strict to let hinge sort it."},
    {"data.index.range", kData, "A feature index does not fit 64 bits.", "Renumber the features."},
    {"data.index.unseen", 0, "The data has features the model was not trained on.",
     "They were ignored. Check that training and test data were prepared alike."},
    {"data.index.unsorted", 0, "Some rows were not sorted by index; hinge sorted them.",
     "Nothing needs doing. --strict refuses such rows."},
    {"data.index.zero", kData, "Index 0 occurs in data that counts from 1.",
     "Give --index-base 0 if the file counts from 0, for training and prediction alike."},
    {"data.label", kData, "A row does not begin with a label.",
     "Rows are `label index:value ...`. CSV must be converted; use --no-labels to predict rows "
     "without labels."},
    {"data.label.kind", kData, "The labels are of another kind than is needed.",
     "Training takes classes, whole numbers or names, and with a --loss of regression real "
     "targets or whole numbers; a model of named classes is evaluated on named classes."},
    {"data.label.mismatch", kData, "The labels of the rows cannot be those of the model.",
     "The model knows none of them, or both have two labels, which are not the same, such as 0 and "
     "1 "
     "beside -1 and 1. Give the rows the labels the model was trained on."},
    {"data.label.multi", kData, "A row has several labels.",
     "hinge learns one label a row; train one model per label instead."},
    {"data.label.name", kData, "The name of a class cannot be used.",
     "Names are 1 to 4,096 bytes of UTF-8 without control characters, and no two are the same."},
    {"data.label.nonfinite", kData, "A label is nan or infinite.", "Remove the row, or mend it."},
    {"data.label.not-integer", kData, "A label is not a whole number.",
     "Number your classes, or give a --loss of regression."},
    {"data.label.range", kData, "A label does not fit a signed 64-bit integer.",
     "Number your classes from 0."},
    {"data.label.unknown", kData, "A row of a stream has a label that --labels does not list.",
     "Add the label to --labels, drop --labels, or leave such rows out with --on-bad-row skip."},
    {"data.label.unseen", 0, "Some rows have a label the model was not trained on.",
     "They count as errors. Check that training and test data have the same classes."},
    {"data.line.cr-only", kData, "The file ends its lines with CR alone.",
     "Convert it with: tr '\\r' '\\n' < old > new"},
    {"data.lines", kData, "The input has fewer lines than the stream has already learned from.",
     "Give the whole input, or leave out --skip-seen if it begins where the stream ended."},
    {"data.matrix", kData, "Arrays given to the library are not a valid sparse matrix.",
     "Offsets ascend from 0, columns ascend within a row and stay below the number of features, "
     "values are finite."},
    {"data.one-class", kData, "All rows have the same label.",
     "A classifier needs rows of at least two classes."},
    {"data.pair", kData, "A feature is not written as index:value.",
     "Write every feature as index:value, separated by blanks."},
    {"data.qid.ignored", 0, "Rows carry a qid, which only ranking uses; it was skipped.",
     "Nothing needs doing."},
    {"data.rare-class", 0, "A class has very few rows.",
     "The model may never predict it; consider --class-weight."},
    {"data.row.norm", kData, "The squared norm of a row overflows.", "Scale the data."},
    {"data.row.skipped", 0, "Bad rows were left out, as --on-bad-row skip asks.",
     "Look at the first of them: `hinge check` lists all bad rows of a file."},
    {"data.scale", 0, "The values of some columns are more than 100 times those of others.",
     "The hyperplane hardly sees the small columns, and training takes longer. Scale the columns "
     "to "
     "similar ranges, the same way in the data to be predicted."},
    {"data.value", kData, "A feature value is not a decimal number.",
     "Write values such as 0.25 or 2.5e-3."},
    {"data.value.f32", 0, "float32 loses digits of the data that may matter.",
     "Keep values in double with --precision f64, or subtract what a column's values have in "
     "common."},
    {"data.value.f32-range", kData, "A value is too large for float32.",
     "Scale the data, or keep values in double with --precision f64."},
    {"data.value.missing", kData, "A feature has an index but no value.",
     "Mend the row; if it is the last one, the file may have been cut off."},
    {"data.value.nonfinite", kData, "A feature value is nan or infinite.",
     "Remove the row, or mend it."},
    {"data.value.overflow", kData, "A feature value is too large for a double.", "Scale the data."},
    {"data.value.underflow", 0, "Some values were too small to be kept exactly.",
     "They were rounded to the nearest representable number, often 0. --precision f64 keeps more."},
    {"data.weight", kData, "A row weight is not a finite number >= 0.",
     "Write one factor a line, such as 1 or 0.5."},
    {"data.weights.count", kData, "The number of row weights is not the number of rows.",
     "Write one factor a row, in the order of the rows."},
    {"data.weights.zero", kData, "All rows of a class have weight 0.",
     "Give at least one row of every class a positive weight."},
    {"data.xz", kData, "The xz stream is damaged or cut off.",
     "Copy or compress the file again; `xz -t FILE` tests it."},
    {"data.zstd", kData, "The zstd stream is damaged or cut off.",
     "Copy or compress the file again; `zstd -t FILE` tests it."},
    {"io.changed", kIo, "A file changed while it was being read.", "Run again on a stable copy."},
    {"io.create", kCantCreate, "An output file cannot be created.",
     "Check that its folder exists and has room."},
    {"io.not-a-file", kNoInput, "The path is a folder, socket or other thing without rows.",
     "Give a regular file, or - for standard input."},
    {"io.open", kNoInput, "An input file cannot be opened.", "Check the path."},
    {"io.permission", kPermission, "Permission denied.", "Check the owner and mode of the file."},
    {"io.read", kIo, "Reading failed.", "Check the disk, the network share, or the pipe's writer."},
    {"io.replace", kCantCreate,
     "An existing file of another kind than the output would be replaced; it was left as it is.",
     "Choose another name for the output, or give --force to replace the file."},
    {"io.sync", kIo, "The new file is in place, but its folder could not be synced.",
     "Check the disk: a power cut may still bring the old file back."},
    {"io.write", kIo, "Writing failed; the old file, if any, is untouched.",
     "Make room on the disk, or write elsewhere."},
    {"limit.bytes", kData, "The data is longer than --max-bytes allows.",
     "Is this the right file? Raise --max-bytes if it is."},
    {"limit.classes", kData, "The data has more classes than hinge trains.",
     "Are these labels, or numbers to be predicted, as with --loss squared_epsilon?"},
    {"limit.header", kCorrupt, "The header of a file is longer than 16 MiB.",
     "The file was not written by hinge."},
    {"limit.line-bytes", kData, "A line is longer than allowed.",
     "Is this the right file? The limit is 1 GiB a line; --max-line-bytes changes it."},
    {"limit.token", kCorrupt, "A number in a model is longer than any that is written.",
     "The file was damaged, or not written by LIBLINEAR."},
    {"lock.held", kRetry, "Another training writes the same checkpoint.",
     "Wait until it ends, or choose another name for the checkpoint."},
    {"lock.stale", 0, "The lock of a process that died was taken over.", "Nothing needs doing."},
    {"memory.alloc", kMemory, "Memory ran out.",
     "Use a machine with more memory, or --precision f32."},
    {"memory.limit", kMemory, "More memory is needed than --memory allows.",
     "Raise --memory, use --precision f32, or train on fewer rows; for a stream, fewer classes "
     "(--labels, --max-classes) or columns."},
    {"memory.model", kMemory, "The weights, or the planes of a solver, would not fit into memory.",
     "Renumber the features, hash them into fewer columns, or lower --planes; for a stream, give "
     "--labels or lower --max-classes."},
    {"model.certificate", kCorrupt, "The certificate of the model does not follow from the data.",
     "The model was altered after training, or written by a faulty program. Train again."},
    {"model.checksum", kCorrupt, "A checksum of the model file does not match.",
     "The file was damaged. Restore it from a copy, or train again."},
    {"model.content", kCorrupt, "The model file holds values that make no sense.",
     "The file was damaged, or written by a faulty program. Train again."},
    {"model.endian", kCorrupt, "The model was written with big-endian numbers.",
     "hinge reads little-endian files only. Train again."},
    {"model.format", kUsage, "The model cannot be expressed in the format asked for.",
     "Write the native format, or train without what the message names."},
    {"model.header", kCorrupt, "The header of the model file is not one hinge reads.",
     "The file was damaged, or is a model of another kind: hinge reads its own and LIBLINEAR's "
     "classifiers."},
    {"model.magic", kCorrupt, "The file is not a hinge model.",
     "Check the order of the arguments: predict DATA MODEL, verify MODEL DATA."},
    {"model.path", kUsage, "The file does not hold one model of the cost asked for.",
     "It may hold models of several costs: `hinge info` lists them, --cost chooses one."},
    {"model.section", kCorrupt,
     "The model has a section that changes predictions and that this hinge does not know.",
     "Update hinge."},
    {"model.start", kUsage, "The model to start from does not fit the data.",
     "Give one that was trained on rows of the same classes, or train without --start."},
    {"model.stream", kUsage, "The model was not learned online, so no stream can go on from it.",
     "Give a model that `hinge stream` wrote."},
    {"model.trailing", kCorrupt, "The model file has bytes after its end.",
     "The file was damaged. Restore it from a copy, or train again."},
    {"model.truncated", kCorrupt, "The model file is cut off.",
     "Copy it again; hinge never leaves a half-written model."},
    {"model.version", kCorrupt, "The model was written by a newer hinge.", "Update hinge."},
    {"mpi.duplicate-shard", kProtocol, "Two files of one training have the same bytes.",
     "Take one of them away, or its name out of the pattern: its rows would count twice."},
    {"mpi.inconsistent", kProtocol, "Ranks of one training were given different things.",
     "Start all ranks with the same command, the same hinge, and files they all see alike."},
    {"mpi.launcher", kProtocol,
     "The launcher started another number of processes than MPI brought together.",
     "Start hinge by the launcher of the MPI that libhinge-mpi was built with; to train alone, "
     "unset "
     "the variable that the message names."},
    {"mpi.rank-lost", kRetry, "A process of a training on several ended before its time.",
     "See what its machine says of it. With --checkpoint a run can go on: give --resume FILE."},
    {"mpi.timeout", kRetry, "A process of a training on several did not answer in time.",
     "See whether its machine is up. --mpi-timeout says how long to wait; --resume FILE goes on."},
    {"mpi.unavailable", kUnavailable, "hinge was started by an MPI launcher, and cannot use MPI.",
     "Install libhinge-mpi beside hinge, built with the MPI of the launcher; or run hinge alone."},
    {"mpi.unsupported", kUsage, "This cannot be done on several ranks.",
     "Leave the option out, choose another solver, or start hinge without mpirun."},
    {"run.internal", kInternal, "A bug in hinge.",
     "Please report it with the command, the version and, if you can, the data."},
    {"run.interrupted", kSignal, "The run was interrupted before it had a result.",
     "Run again. Nothing was changed."},
    {"solver.ill-scaled", 0, "The values of the data differ by more than double precision spans.",
     "Scale the columns to similar ranges; the gap reported is true all the same."},
    {"solver.limit", 0, "A limit, or a signal, came before the goal, or the epochs, asked for.",
     "The model is the best found, with its true gap. Allow more time, or accept the model."},
    {"solver.nonfinite", kNumeric, "The objective is not finite.",
     "Scale the data, or choose a smaller cost."},
    {"solver.stalled", 0, "Progress ended before a goal was reached.",
     "The message says why, and the model has its true gap. Where rounding is in the way, scale "
     "the data or ask for a larger gap. Where it crawled, centre or scale the columns, or try "
     "--solver auto. Where the bound is above the --target, ask for a larger one."},
    {"system.cpu", kUnavailable, "The CPU does not have the instruction set asked for.",
     "Leave --cpu at auto."},
    {"system.threads", 0, "Threads could not be started.",
     "The run went on with fewer threads; the result is the same."},
    {"usage.class-weight", 0, "A class weight was given for a label that does not occur.",
     "Check the label; the weight had no effect."},
    {"usage.option", kUsage, "There is no such option, or it is used wrongly.",
     "Add --help to the command to see its options."},
    {"usage.same-file", kUsage, "An output would overwrite an input.", "Choose another name."},
    {"usage.value", kUsage, "An option has a value outside its range.",
     "Add --help to the command to see ranges and defaults."},
    {"verify.data", kData, "This is not the data the model was trained on.",
     "Give the training data in the same row order, with the same --weights."},
    {"witness.dropped", 0, "The proof was too large to keep in the model.",
     "`hinge verify --prove` finds a new one when needed."},
});
static_assert(std::ranges::is_sorted(kCatalogue, {}, &ErrorInfo::id));

const char* severity_word(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "error";
}

// The excerpt under its line number, with the bad bytes underlined; both are cut to fit a terminal.
std::string show_excerpt(const Error& error) {
  constexpr std::size_t kWidth = 60;
  const std::size_t caret = std::min<std::size_t>(error.caret, error.excerpt.size());
  const std::size_t from = caret > kWidth / 2 ? caret - kWidth / 2 : 0;
  const std::string before = escape(std::string_view(error.excerpt).substr(from, caret - from));
  const std::string rest =
      escape(std::string_view(error.excerpt).substr(caret, kWidth - (caret - from)));
  const std::size_t wrong =
      escape(std::string_view(error.excerpt).substr(caret, error.caret_length)).size();
  const std::string number = fmt::format("{:5}", error.line);
  return fmt::format("\n{} | {}{}\n{:{}} | {:{}}^{:~<{}}", number, before, rest, "", number.size(),
                     "", before.size(), "",
                     std::min(wrong, rest.size()) > 1 ? std::min(wrong, rest.size()) - 1 : 0);
}

}  // namespace

Error make_error(std::string id, std::string message, std::string help) {
  Error error;
  error.id = std::move(id);
  error.message = std::move(message);
  error.help = std::move(help);
  return error;
}

Error make_warning(std::string id, std::string message) {
  Error warning = make_error(std::move(id), std::move(message));
  warning.severity = Severity::warning;
  return warning;
}

std::string escape(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string to_string(const Error& error) {
  std::string place = error.file.empty() ? "hinge" : escape(error.file);
  std::string out = place;
  if (error.line != 0) out += fmt::format(":{}:{}", error.line, error.column);
  const std::string rank = error.rank < 0 ? "" : fmt::format("rank {}: ", error.rank);
  out +=
      fmt::format(": {}: {}{} [{}]", severity_word(error.severity), rank, error.message, error.id);
  if (!error.excerpt.empty()) out += show_excerpt(error);
  if (!error.help.empty()) out += fmt::format("\n{}: help: {}", place, error.help);
  for (const Error& next : error.more) out += "\n" + to_string(next);
  return out;
}

std::string to_json(const Error& error) {
  Json json = {
      {"severity", severity_word(error.severity)},
      {"id", error.id},
      {"file", escape(error.file)},
      {"line", error.line},
      {"column", error.column},
      {"offset", error.offset},
      {"message", error.message},
      {"help", error.help},
  };
  if (error.rank >= 0) json.add("rank", error.rank);
  return json.dump();
}

std::span<const ErrorInfo> error_catalogue() {
  return kCatalogue;
}

const ErrorInfo* find_error(std::string_view id) {
  const auto found = std::ranges::find(kCatalogue, id, &ErrorInfo::id);
  return found == kCatalogue.end() ? nullptr : &*found;
}

int exit_code(const Error& error) {
  const ErrorInfo* info = find_error(error.id);
  return info == nullptr ? kInternal : info->exit_code;
}

void fail(std::string id, std::string message, std::string help) {
  fail_file(std::move(id), {}, std::move(message), std::move(help));
}

void fail_file(std::string id, std::string file, std::string message, std::string help) {
  Error error = make_error(std::move(id), std::move(message), std::move(help));
  error.file = std::move(file);
  throw Failure{std::move(error)};
}

void fail_errno(std::string id, const std::string& file, std::string_view doing, int errno_value) {
  if (errno_value == EACCES || errno_value == EPERM) id = "io.permission";
  fail(std::move(id),
       fmt::format("cannot {} {}: {}", doing, escape(file), errno_text(errno_value)));
}

void fail_read(const std::string& file, int errno_value, std::uint64_t offset) {
  fail("io.read", fmt::format("cannot read {}: {} (at byte {})", escape(file),
                              errno_text(errno_value), offset));
}

std::string errno_text(int errno_value) {
  std::array<char, 256> buffer{};
  return strerror_r(errno_value, buffer.data(), buffer.size());  // the GNU form returns the text
}

// Both texts fit into a std::string without memory of its own.
Error out_of_memory_error() noexcept {
  return make_error("memory.alloc", "memory ran out");
}

Error interrupted_error() noexcept {
  return make_error("run.interrupted", "interrupted");
}

Error internal_error(std::string_view what) noexcept {
  try {
    return make_error("run.internal", fmt::format("internal error: {}", escape(what)),
                      "this is a bug in hinge: please report it with the command and the version");
  } catch (const std::bad_alloc&) {
    return out_of_memory_error();
  }
}

}  // namespace hinge
