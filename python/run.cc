#include "run.h"

#include <nanobind/stl/string.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace hinge::python {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(50);

// What a thread does and how it ended.
struct Job {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr error;

  void work(const std::function<void()>& f) {
    try {
      f();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_one();
  }

  bool wait() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kBetweenLooks, [&] { return done; });
  }
};

}  // namespace

void raise(const Error& error) {
  // As in os.fsdecode(): a path need not be UTF-8.
  const nb::object path = nb::steal(PyUnicode_DecodeFSDefaultAndSize(
      error.file.data(), static_cast<Py_ssize_t>(error.file.size())));
  const nb::object exception =
      nb::module_::import_("hinge.errors")
          .attr("exception_of")(nb::arg("id") = error.id, nb::arg("exit_code") = exit_code(error),
                                nb::arg("text") = to_string(error),
                                nb::arg("message") = error.message, nb::arg("path") = path,
                                nb::arg("line") = error.line, nb::arg("column") = error.column,
                                nb::arg("help") = error.help);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

void run_released(const std::function<void(const std::atomic<bool>& stop)>& work,
                  const std::function<void()>& meanwhile, Length length) {
  std::atomic<bool> stop{false};
  if (length == Length::brief) {
    const nb::gil_scoped_release released;
    work(stop);
    return;
  }
  std::exception_ptr raised;
  Job job;
  const auto begin = [&] { job.work([&] { work(stop); }); };
  std::thread thread;
  try {
    thread = std::thread(begin);
  } catch (const std::system_error&) {  // no thread to be had: then signals have to wait
    const nb::gil_scoped_release released;
    begin();
  }
  for (bool done = false; !done;) {
    {
      const nb::gil_scoped_release released;
      done = job.wait();
    }
    if (raised) continue;
    try {
      if (!done && PyErr_CheckSignals() != 0) throw nb::python_error();
      if (meanwhile) meanwhile();
    } catch (...) {
      raised = std::current_exception();
      stop = true;
    }
  }
  if (thread.joinable()) thread.join();
  if (raised) std::rethrow_exception(raised);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace hinge::python
