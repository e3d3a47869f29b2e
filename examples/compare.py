#!/usr/bin/env python3
"""Trains one example by its C++ program and by its Python peer, and compares them.

    examples/compare.py --python venv/bin/python cifar100 -- --data DIR --net resnet18 --epochs 3

The words after `--` are options that both take. The Python should have the PyTorch of the C++
programs' LibTorch: versions round otherwise, and after 20 steps that can be seen.

First, with 1 and 2 ranks, from the same initial weights: the losses of the first 20 steps, whose
greatest difference may be 1e-4. Then, with 2 ranks, both train once with each of three seeds, in
turns: the accuracies, of which the means may differ by 2 points, and the images per second. The
last lines are tables for a README. Ends with 1 if one of the two is missed, or a run fails.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOSS_DIFFERENCE_MAX = 1e-4
ACCURACY_DIFFERENCE_MAX = 2.0  # points
STEPS_COMPARED = 20


def absolute(options):
    """The same with absolute paths for --data and --weights, as runs have folders of their own."""
    result = []
    for option in options:
        name, equals, value = option.partition("=")
        if equals and name in ("--data", "--weights"):
            option = f"{name}={os.path.abspath(value)}"
        elif result and result[-1] in ("--data", "--weights"):
            option = os.path.abspath(option)
        result.append(option)
    return result


class Example:
    """The two programs of one example, with the options that both get."""

    def __init__(self, name, python, bin_folder, options):
        folder = ROOT / "examples" / name
        self.launcher = bin_folder / "ddprun"
        self.options = absolute(options)
        python = os.path.abspath(python) if "/" in python else python
        self.programs = {
            "C++": [str(bin_folder / name)],
            "Python": [python, str(folder / f"{name}.py")],
        }

    def run(self, language, ranks, *options):
        """What the program prints, in a folder of its own, so that it begins anew."""
        command = [self.launcher, "--standalone", f"--nproc-per-node={ranks}"]
        command += [*self.programs[language], *self.options, *options]
        print("+", *command, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        if done.returncode != 0:
            sys.exit(f"{done.stdout[-4000:]}\nit ended with {done.returncode}")
        return done.stdout

    def losses(self, language, ranks, weights, path):
        self.run(
            language, ranks, f"--weights={weights}", f"--losses={path}", f"--steps={STEPS_COMPARED}"
        )
        return [float(line) for line in path.read_text().split()]

    def result(self, language, ranks, seed):
        """The fields of the result line; those that are not known are missing."""
        output = self.run(language, ranks, f"--seed={seed}")
        line = re.search(r"result: (.*)", output)
        if line is None:
            sys.exit(f"{output[-4000:]}\nit printed no result line")
        fields = dict(field.split("=") for field in line.group(1).split())
        return {name: float(value) for name, value in fields.items() if value != "-"}


def compare_losses(example, all_ranks):
    """The greatest difference for each number of ranks."""
    differences = {}
    with tempfile.TemporaryDirectory() as folder:
        weights = pathlib.Path(folder) / "initial.pt"
        example.run("Python", 1, f"--export={weights}")
        for ranks in all_ranks:
            losses = {
                language: example.losses(language, ranks, weights, pathlib.Path(folder) / "losses")
                for language in example.programs
            }
            counts = {language: len(each) for language, each in losses.items()}
            if set(counts.values()) != {STEPS_COMPARED}:
                sys.exit(f"not {STEPS_COMPARED} losses of each: {counts}")
            pairs = zip(losses["C++"], losses["Python"])
            differences[ranks] = max(abs(ours - theirs) for ours, theirs in pairs)
    return differences


def compare_results(example, ranks, seeds):
    """The result lines of each language, one for each seed."""
    results = {language: [] for language in example.programs}
    for seed in seeds:
        for language, lines in results.items():
            lines.append(example.result(language, ranks, seed))
            print("  result:", lines[-1], flush=True)
    return results


def mean_of(lines, field):
    values = [line[field] for line in lines if field in line]
    return statistics.mean(values) if values else None


def shown(lines, field, digits):
    values = [line[field] for line in lines if field in line]
    if not values:
        return "-"
    each = ", ".join(f"{value:.{digits}f}" for value in values)
    return f"{statistics.mean(values):.{digits}f} ({each})"


def print_tables(differences, results):
    print("\n| ranks | greatest difference of the first 20 losses |\n|---|---|")
    for ranks, difference in differences.items():
        print(f"| {ranks} | {difference:.2g} |")
    print("\n| | accuracy, % | images/s | seconds |\n|---|---|---|---|")
    for language, lines in results.items():
        columns = [shown(lines, "accuracy", 2), shown(lines, "images_per_s", 1)]
        print(f"| {language} | {columns[0]} | {columns[1]} | {shown(lines, 'seconds', 1)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--ranks", type=int, default=2, help="of the whole trainings")
    parser.add_argument("example")
    parser.add_argument("options", nargs="*", help="for both programs, after --")
    words = parser.parse_args()

    example = Example(words.example, words.python, words.bin.resolve(), words.options)
    differences = compare_losses(example, [1, 2])
    results = compare_results(example, words.ranks, words.seeds.split(","))
    print_tables(differences, results)
    accuracies = [mean_of(lines, "accuracy") for lines in results.values()]
    losses_agree = max(differences.values()) <= LOSS_DIFFERENCE_MAX
    results_agree = accuracies[0] == accuracies[1] or (
        None not in accuracies and abs(accuracies[0] - accuracies[1]) <= ACCURACY_DIFFERENCE_MAX
    )
    print("\nlosses", "agree" if losses_agree else "differ", end="; ")
    print("accuracies", "agree" if results_agree else "differ")
    return 0 if losses_agree and results_agree else 1


sys.exit(main())
