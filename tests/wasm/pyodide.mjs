// Run pytest in Pyodide: node pyodide.mjs PYODIDE_FOLDER PYTHON_PATHS PYTEST_ARGUMENT ...
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, paths, ...args] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.resolve(folder, "pyodide.mjs")));
const pyodide = await loadPyodide({ env: { MPLBACKEND: "Agg", PYTHONDONTWRITEBYTECODE: "1", HOME: "/home/pyodide" } });
for (const name of fs.readdirSync(folder).filter((name) => /^(numpy|ml_dtypes|pillow)-.*\.whl$/.test(name))) {
  pyodide.unpackArchive(new Uint8Array(fs.readFileSync(path.join(folder, name))), "wheel");
}
for (const root of new Set(paths.split(":").map((each) => `/${each.split("/")[1]}`))) {
  if (root === "/tmp") throw new Error("The project and the packages must not be below /tmp, where Pyodide has its own folder");
  pyodide.FS.mkdirTree(root);
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root }, root);
}
pyodide.globals.set("paths", paths);
pyodide.globals.set("arguments", args);
process.exitCode = await pyodide.runPythonAsync(`
import sys
sys.path += paths.split(":")
import pytest
int(pytest.main(list(arguments)))
`);
