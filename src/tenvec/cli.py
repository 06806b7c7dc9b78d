"""The command ``tenvec``: the library for those who have files rather than a program."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

Array = Any


class CommandError(Exception):
    """Something that the person at the keyboard can mend."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "run"):
        parser.print_help()
        return 2
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            options.run(options)
    except KeyboardInterrupt as stop:
        print(f"\ntenvec: interrupted; {str(stop) or 'no file was written'}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone, as in "tenvec inspect … | head".
        sys.stderr.close()
        return 1
    except (CommandError, OSError, ValueError, TypeError, ImportError) as error:
        print(f"tenvec: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    from tenvec import __version__

    parser = argparse.ArgumentParser(
        prog="tenvec",
        description="Feature vectors for samples that are tensors, and back, by a Bayesian model.",
    )
    parser.add_argument("--version", action="version", version=f"tenvec {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    demo = _command(commands, "demo", "show the main job on handwritten digits", _demo)
    demo.add_argument(
        "--out", type=Path, default=Path("tenvec-demo"), help="folder for pictures (%(default)s)"
    )

    fit = _command(commands, "fit", "learn a model from samples in a .npy or .npz file", _fit)
    fit.add_argument("samples", type=Path, help="array of shape (n_samples, D1, …, DN)")
    fit.add_argument("-o", "--out", type=Path, required=True, help="model file (.safetensors)")
    fit.add_argument("-k", "--n-components", type=int, default=50, help="features (%(default)s)")
    fit.add_argument("-r", "--rank", type=int, help="CP rank of the basis (twice the features)")
    fit.add_argument("--algorithm", choices=["px-em", "em"], default="px-em")
    fit.add_argument("--init", choices=["svd", "normal", "uniform"], default="svd")
    fit.add_argument("--no-center", action="store_true", help="do not subtract the mean")
    fit.add_argument(
        "--scale", type=int, nargs="+", metavar="AXIS", help="axes of a sample to put on one scale"
    )
    fit.add_argument("--whiten", type=float, default=1.0, help="1 posterior means, 0 isometric")
    fit.add_argument("--sample-shape", type=int, nargs="+", metavar="D", help="folds 2-D samples")
    fit.add_argument("--max-iter", type=int, default=200, help="largest number of passes")
    fit.add_argument("--tol", type=float, default=1e-4)
    fit.add_argument("--n-sweeps", type=int, help="sweeps a pass (5 to 20, by size)")
    fit.add_argument(
        "--noise-prior",
        type=float,
        nargs=2,
        default=(1e-6, 1e-6),
        metavar=("A", "B"),
        help="of the noise precision, a Gamma distribution",
    )
    fit.add_argument("--n-init", type=int, default=1, help="number of starts")
    fit.add_argument("--seed", type=int, default=0, help="of random starts (%(default)s)")
    fit.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    _shared(fit, "samples")

    transform = _command(commands, "transform", "features of samples", _transform)
    transform.add_argument("model", type=Path, help="model file")
    transform.add_argument("samples", type=Path, help=".npy or .npz file of samples")
    transform.add_argument("-o", "--out", type=Path, required=True, help=".npy or .csv file")
    _shared(transform, "samples")

    back = _command(commands, "reconstruct", "samples from features", _reconstruct)
    back.add_argument("model", type=Path, help="model file")
    back.add_argument("features", type=Path, help=".npy, .npz or .csv file of features")
    back.add_argument("-o", "--out", type=Path, required=True, help=".npy file")
    _shared(back, "features")

    inspect = _command(commands, "inspect", "say what a model file holds", _inspect)
    inspect.add_argument("model", type=Path, help="model file")

    paper = _command(
        commands, "reproduce", "repeat the paper's experiments and compare the figures", _reproduce
    )
    paper.add_argument(
        "tables", nargs="*", metavar="TABLE", help="by name or by number in the paper (all)"
    )
    paper.add_argument("--data", type=Path, help="folder of the data sets ($TENVEC_DATA)")
    paper.add_argument("--runs", type=int, default=10, help="runs of each cell (%(default)s)")
    paper.add_argument("--quick", action="store_true", help="one run of a few cells")
    paper.add_argument(
        "--out",
        type=Path,
        default=Path("tenvec-reproduce"),
        help="folder for results; what it holds already is not run again (%(default)s)",
    )
    paper.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)"
    )
    return parser


def _command(
    commands: Any, name: str, text: str, run: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=run)
    return parser


def _shared(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--key", help=f"name of the {what} in a .npz file of several arrays")
    parser.add_argument("--overwrite", action="store_true", help="replace the output file")


def _demo(options: argparse.Namespace) -> None:
    from tenvec import demo

    if options.out.exists() and not options.out.is_dir():
        raise CommandError(f"{options.out} is a file: name a folder for the pictures")
    demo.run(options.out)


def _reproduce(options: argparse.Namespace) -> None:
    if options.runs < 0 or options.jobs < 1:
        raise CommandError("--runs must be 0 or more, --jobs 1 or more")
    if options.out.exists() and not options.out.is_dir():
        raise CommandError(f"{options.out} is a file: name a folder for the results")
    from tenvec.paper import reproduce

    failed = reproduce.reproduce(
        options.tables,
        folder=options.data,
        out=options.out,
        runs=options.runs,
        quick=options.quick,
        jobs=options.jobs,
    )
    if failed:
        raise CommandError(f"{len(failed)} cells failed, the first: {failed[0]}")


def _fit(options: argparse.Namespace) -> None:
    from tenvec import TBVDR

    _refuse_output(options)
    samples = _read(options.samples, options.key)
    shape = options.sample_shape
    model = TBVDR(
        options.n_components,
        rank=options.rank,
        algorithm=options.algorithm,
        init=options.init,
        center=not options.no_center,
        scale=None if options.scale is None else tuple(options.scale),
        whiten=options.whiten,
        sample_shape=None if shape is None else tuple(shape),
        max_iter=options.max_iter,
        tol=options.tol,
        n_sweeps=options.n_sweeps,
        noise_prior=tuple(options.noise_prior),
        n_init=options.n_init,
        random_state=options.seed,
        verbose=0 if options.quiet or _show_progress_bar() else 2,
    )
    if _show_progress_bar() and not options.quiet:
        from sklearn.callback import ProgressBar

        model.set_callbacks(ProgressBar())
    model.fit(samples)
    model.set_callbacks() if hasattr(model, "set_callbacks") else None
    model.set_params(verbose=0)
    model.save(options.out, overwrite=options.overwrite)
    print(_summary(model))
    print(f"written to {options.out}")


def _transform(options: argparse.Namespace) -> None:
    from tenvec import load

    _refuse_output(options, (".npy", ".csv"))
    _write(options.out, load(options.model).transform(_read(options.samples, options.key)))


def _reconstruct(options: argparse.Namespace) -> None:
    from tenvec import load

    _refuse_output(options, (".npy",))
    features = _read(options.features, options.key)
    _write(options.out, load(options.model).inverse_transform(features))


def _inspect(options: argparse.Namespace) -> None:
    from tenvec import load

    print(_summary(load(options.model)))


def _summary(model: Any) -> str:
    from tenvec import TBVDR

    shape = " × ".join(str(size) for size in model.sample_shape_)
    n_features = len(model.get_feature_names_out())
    lines = {"model": f"{type(model).__name__}, {n_features} features", "samples": shape}
    if isinstance(model, TBVDR):
        ratio = model.explained_variance_ratio_
        lines["model"] += f", rank {model.rank_}"
        lines["samples"] += f", {'centred' if model.center else 'not centred'}"
        lines["samples"] += "" if model.scale_ is None else ", scaled"
        lines["explained"] = (
            f"{ratio.sum():.1%} of the variance, {ratio[0]:.1%} by the first feature"
        )
        lines["noise"] = f"deviation {model.noise_variance_**0.5:.4g}"
        lines["bound"] = f"{model.lower_bound_:.6g} nats"
    if hasattr(model, "stop_reason_"):
        lines["stopped"] = f"after {model.n_iter_} passes: {model.stop_reason_}"
    return "\n".join(f"{name:>10}  {text}" for name, text in lines.items())


def _show_progress_bar() -> bool:
    """Whether scikit-learn's progress bar is there and somebody would see it."""
    try:
        import rich  # noqa: F401
        from sklearn.callback import ProgressBar  # noqa: F401
    except ImportError:
        return False
    return sys.stdout.isatty()


def _read(path: Path, key: str | None) -> Array:
    """An array from a file; .npy files are mapped, not read."""
    if not path.exists():
        raise CommandError(f"{path} does not exist")
    if path.is_dir():
        raise CommandError(f"{path} is a folder: name a file")
    if path.suffix == ".csv":
        return _read_table(path)
    if path.suffix == ".npz" and not is_zipfile(path):
        raise CommandError(f"{path} is no .npy or .npz file of numbers, or is cut off")
    try:
        content = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        # NumPy takes what it does not know for a pickle, and tells how to open one.
        why = "" if "pickle" in str(error) else f" ({error})"
        raise CommandError(
            f"{path} is no .npy or .npz file of numbers{why}; save one with numpy.save"
        ) from error
    if not isinstance(content, np.lib.npyio.NpzFile):
        return content
    with content:
        names = content.files
        if key is None and len(names) != 1:
            raise CommandError(f"{path} holds {', '.join(names)}: choose one with --key")
        if key is not None and key not in names:
            raise CommandError(f"{path} holds no {key!r}, but {', '.join(names)}")
        return content[key or names[0]]


def _read_table(path: Path) -> Array:
    try:
        return np.loadtxt(path, delimiter=",", ndmin=2)
    except ValueError as error:
        # NumPy's advice is for those who call it.
        reason = str(error).split(";")[0].rstrip(".")
        raise CommandError(
            f"{path} is no table of numbers ({reason}): rows of equally many numbers, separated by "
            "commas, without a heading, are needed"
        ) from error


def _refuse_output(options: argparse.Namespace, formats: Sequence[str] = ()) -> None:
    """Say before the work, not after it, that its result cannot be written."""
    out: Path = options.out
    if out.is_dir():
        raise CommandError(f"{out} is a folder: name a file in it")
    if not out.parent.is_dir():
        raise CommandError(f"the folder {out.parent} does not exist")
    inputs = [getattr(options, name, None) for name in ("model", "samples", "features")]
    if out.exists() and any(path and path.exists() and out.samefile(path) for path in inputs):
        raise CommandError(f"{out} is an input of this command: name another file to write")
    if formats and out.suffix not in formats:
        raise CommandError(f"{out} is no name of a {' or '.join(formats)} file")
    if out.exists() and not options.overwrite:
        raise CommandError(f"{out} exists; --overwrite replaces it")


def _write(path: Path, array: Array) -> None:
    """Write an array; the file appears whole or not at all."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            if path.suffix == ".csv":
                np.savetxt(file, array, delimiter=",")
            else:
                np.save(file, array, allow_pickle=False)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    print(f"{' × '.join(str(size) for size in array.shape)} numbers written to {path}")


def _show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    print(f"tenvec: warning: {message}", file=sys.stderr)
