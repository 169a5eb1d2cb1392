"""The documents say what the program does: examples run, options and exit codes are all there."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
HINGE = pathlib.Path(os.environ["HINGE"]).resolve()
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


TIMES = {"seconds", "slower", "objective time", "search time"}  # columns that differ from run to run


def comparable(line, header):
    """What of a line of output is the same in every run; `header` is that of the table it is in, or empty."""
    cells = re.split(r"\s{2,}", line.strip())
    if len(cells) > 2 and len(cells) == len(header):
        return [cell for cell, name in zip(cells, header) if name not in TIMES]
    return re.sub(r"((?:load|solve|check) )\d[\d.e-]*|\d[\d.e-]* s\b", r"\1TIME", " ".join(cells))


def lines_of(text):
    """The lines of output, comparable."""
    header, lines = [], []
    for line in filter(str.strip, text.splitlines()):
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) > 2 and not any(cell[:1].isdigit() for cell in cells):
            if len(cells) != len(header):
                header = cells
        lines.append(comparable(line, header))
    return lines


def hinge(*arguments):
    return subprocess.run([HINGE, *arguments], capture_output=True, text=True, check=True).stdout


class Documents(unittest.TestCase):
    def test_examples_run_and_say_what_is_quoted(self):
        """Blocks marked `run` do, one after the other; what is marked `said by` a command is what that says, but for time.

        Commands that read the real data (ccat.svm.xz, say) are left out where it is not there.
        """
        examples = quotes = 0
        for document in DOCUMENTS:
            folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))  # later examples go on from earlier ones
            program = folder / "bin"
            program.mkdir()
            (program / "hinge").symlink_to(HINGE)
            for name in ("ccat-train.svm.xz",):
                if os.path.exists(found := os.path.join(os.environ.get("HINGE_SHARED_DATA", ""), name)):
                    (folder / name).symlink_to(found)
            path = f"{program}{os.pathsep}{os.environ['PATH']}"
            marks = r"<!-- run -->\n```sh\n(.*?)```|<!-- said by: (.*?) -->\n\n((?:    [^\n]*\n|\n)+)"
            for block, command, quote in re.findall(marks, document.read_text(), re.S):
                if ".xz" in command and not any(name.name in command for name in folder.iterdir()):
                    print(f"not run, for want of the data: {command}")
                    continue
                with self.subTest(document=document.name, command=command):
                    done = subprocess.run(["sh", "-ec", block or command], cwd=folder, capture_output=True,
                                          text=True, env={**os.environ, "PATH": path}, timeout=300)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    said = lines_of(done.stderr) + lines_of(done.stdout)
                    for line in lines_of(quote):
                        if line != "...":
                            self.assertIn(line, said)
                examples += 1
                quotes += bool(quote)
        self.assertGreaterEqual(examples, 2)
        self.assertGreaterEqual(quotes, 1)

    def test_every_train_option_is_documented(self):
        text = (ROOT / "docs" / "cli.md").read_text()
        options = set(re.findall(r"--[a-z][a-z-]+", hinge("train", "--help"))) - {"--help"}
        self.assertGreater(len(options), 15)
        for option in options:
            self.assertIn(option, text)

    def test_every_documented_train_option_exists(self):
        table = (ROOT / "docs" / "cli.md").read_text().split("## `train`")[1].split("<!-- run -->")[0]
        help_text = hinge("train", "--help")
        for option in re.findall(r"--[a-z][a-z-]+", table):
            self.assertIn(option, help_text)

    def test_stream_options_are_documented_and_exist(self):
        table = (ROOT / "docs" / "cli.md").read_text().split("## `stream`")[1].split("\n## ")[0]
        documented = set(re.findall(r"--[a-z][a-z0-9-]+", table))
        options = set(re.findall(r"--[a-z][a-z0-9-]+", hinge("stream", "--help"))) - {"--help"}
        self.assertGreater(len(options), 15)
        self.assertEqual(documented, options)

    def test_tune_options_are_documented_and_exist(self):
        """Those it shares with train are documented there."""
        section = (ROOT / "docs" / "cli.md").read_text().split("## `tune`")[1].split("\n## ")[0]
        documented = set(re.findall(r"--[a-z][a-z-]+", " ".join(re.findall(r"^\| (`-.*?) \|", section, re.M))))
        options = set(re.findall(r"--[a-z][a-z-]+", hinge("tune", "--help"))) - {"--help"}
        of_train = set(re.findall(r"--[a-z][a-z-]+", hinge("train", "--help")))
        self.assertLessEqual(documented, options)
        self.assertLessEqual(options - of_train, documented)
        self.assertNotIn("--lambda", options)

    def test_compare_options_exist(self):
        """Those it shares with train are documented there."""
        section = (ROOT / "docs" / "cli.md").read_text().split("## `compare`")[1].split("<!-- run -->")[0]
        help_text = hinge("compare", "--help")
        documented = set(re.findall(r"--[a-z][a-z0-9-]+", section)) - {"--solver"}
        self.assertLessEqual({"--solvers", "--svg", "--json", "--gap"}, documented)
        for option in documented:
            self.assertIn(option, help_text)

    def test_every_command_is_documented(self):
        commands = re.findall(r"^  ([a-z]+) ", hinge("--help").split("Subcommands:")[1], re.M)
        self.assertGreaterEqual(len(commands), 8)
        text = (ROOT / "docs" / "cli.md").read_text()
        for command in commands:
            self.assertIn(f"| `{command} ", text)

    def test_every_exit_code_is_documented(self):
        text = (ROOT / "docs" / "cli.md").read_text().split("## Exit codes")[1].split("## Messages")[0]
        documented = set(map(int, re.findall(r"\b\d+\b", text)))
        for line in hinge("explain").splitlines():
            self.assertIn(int(line.split()[1]), documented, line)

    def test_links_lead_somewhere(self):
        for document in DOCUMENTS + [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]:
            for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
                if "://" not in target:
                    self.assertTrue((document.parent / target).exists(), f"{document.name}: {target}")


if __name__ == "__main__":
    if shutil.which("sh") is None:
        raise SystemExit("docs_test needs sh")
    support.main()
