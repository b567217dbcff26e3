"""Build the distributions of flambeau and its plugins. All have one version; a plugin requires exactly this version of flambeau.

python plugins/release.py --check             compare the versions
python plugins/release.py build/release       build source distributions, and wheels from them; check and try them
python plugins/release.py --audit             look for known vulnerabilities of the installed packages, with pip-audit

The build uses the installed packages, in the versions of plugins/release-requirements.txt. In the folder `plugins`, the first
command installs them, and the second writes new versions into that file:

python -m pip install --require-hashes -r release-requirements.txt
uv pip compile --generate-hashes --universal --python-version 3.11 --no-header -o release-requirements.txt release-requirements.in

The wheels of flambeau and flambeau-strict are installed into a new environment, where a program is run. Next to the folder,
`sbom.cdx.json` lists the packages of that environment in CycloneDX format.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRIED = ("flambeau", "flambeau-strict")  # the test installs only these, which work on every platform


def projects() -> dict[str, tuple[Path, dict]]:
    """Return the folder and `[project]` table of each distribution by name, except the templates, which are not published."""
    folders = [ROOT, *sorted((ROOT / "plugins").glob("flambeau-*"))]
    tables = [(folder, tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]) for folder in folders]
    return {table["name"]: (folder, table) for folder, table in tables}


def disagreements() -> list[str]:
    """Return the inconsistencies: differing versions, and plugins that do not require exactly this flambeau version."""
    found = projects()
    version = found["flambeau"][1]["version"]
    wrong = []
    for name, (_, table) in found.items():
        if table["version"] != version:
            wrong.append(f"{name} has version {table['version']}, flambeau {version}")
        asked = [text for text in table["dependencies"] if re.match(r"flambeau(?![\w-])", text)]
        if name != "flambeau" and asked != [f"flambeau=={version}"]:
            wrong.append(f"{name} requires {asked}; expected flambeau=={version}")
    for extra, requirements in found["flambeau"][1]["optional-dependencies"].items():
        wrong += [f"the extra {extra} requires {text}; expected =={version}" for text in requirements
                  if text.startswith("flambeau-") and not text.endswith(f"=={version}")]  # fmt: skip
    return wrong


def build(folder: Path) -> list[Path]:
    """Build source distributions, and wheels from them, into a folder, which must be empty."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        sys.exit(f"{folder} is not empty; name an empty or new folder")
    for project, _ in projects().values():
        subprocess.run(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, project], check=True, stdout=subprocess.DEVNULL
        )
    files = sorted(folder.iterdir())
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    return files


def try_out(folder: Path) -> None:
    """Install the wheels into a new virtual environment, run a program on two backends, and list the installed packages."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = Path(place) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--find-links", folder, *TRIED], check=True)
        program = "import torch; x = torch.ones(2, requires_grad=True); (x**2).sum().backward(); print(x.grad.tolist())"
        for backend in ("numpy", "strict"):
            done = subprocess.run(
                [python, "-m", "flambeau", "-c", program], env={"FLAMBEAU_BACKEND": backend}, cwd=place, check=True,
                capture_output=True, text=True,
            )  # fmt: skip
            if done.stdout.strip() != "[2.0, 2.0]":
                sys.exit(f"on {backend} the program printed {done.stdout!r}; expected [2.0, 2.0]")
        listing = ["environment", str(python), "--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library"]
        subprocess.run([sys.executable, "-m", "cyclonedx_py", *listing, "-o", str(folder.parent / "sbom.cdx.json")], check=True)


def audit() -> None:
    """Exit with a message if an installed package has a known vulnerability, or if pip-audit could not look it up.

    pip-audit succeeds without looking up anything if PyPI's database is not reachable.
    """
    command = [sys.executable, "-m", "pip_audit", "--local", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        sys.exit(f"NOT CHECKED: pip-audit failed\n{done.stderr}")
    packages = [package for package in json.loads(done.stdout)["dependencies"] if package["name"] not in projects()]
    skipped = sorted(package["name"] for package in packages if "skip_reason" in package)
    faults = [f"{p['name']} {p['version']}: {fault['id']}" for p in packages for fault in p.get("vulns", ())]
    if skipped:
        print(f"NOT CHECKED: {len(skipped)} of {len(packages)} packages: is https://pypi.org/pypi/{skipped[0]}/json reachable?")
    if faults:
        print("known vulnerabilities:", *faults, sep="\n")
    if skipped or faults:
        sys.exit(1)
    print(f"no known vulnerabilities in {len(packages)} packages")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="the folder to write the distributions to")
    parser.add_argument("--check", action="store_true", help="only compare the versions")
    parser.add_argument("--audit", action="store_true", help="only look for known vulnerabilities of the installed packages")
    options = parser.parse_args()
    wrong = disagreements()
    if wrong:
        sys.exit("\n".join(wrong))
    if options.check:
        return
    if options.audit:
        return audit()
    if options.folder is None:
        parser.error("give a folder for the distributions, or --check")
    for file in build(options.folder):
        print(file)
    try_out(options.folder)


if __name__ == "__main__":
    main()
