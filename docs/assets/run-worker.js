// Runs Python cells with Pyodide. Messages in: {start} or {run}; out: {kind, id, ...}, see `assets/run.js`.
let pyodide, cells, preparedFigures = false

const start = async ({address, packages, interrupt}) => {
  const progress = text => postMessage({kind: "progress", text})
  progress("Loading Python")
  let loadPyodide
  try {
    ({loadPyodide} = await import(address + "pyodide.mjs"))
    pyodide = await loadPyodide({indexURL: address, env: {MPLBACKEND: "agg", HOME: "/home/pyodide"}})
  } catch (error) {
    throw new Error(`Python could not be loaded from ${address}`, {cause: error})
  }
  progress("Loading NumPy")
  await load(["numpy"])
  await load(["ml-dtypes"]).catch(() => {}) // without it, flambeau has no bfloat16 and no float8
  progress("Loading flambeau")
  const response = await fetch(packages)
  if (!response.ok) throw new Error(`flambeau could not be loaded from ${packages}`)
  const folder = pyodide.runPython("import site; site.getsitepackages()[0]")
  const archive = await new Response(response.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer()
  pyodide.unpackArchive(archive, "zip", {extractDir: folder})
  if (interrupt) pyodide.setInterruptBuffer(interrupt)
  cells = pyodide.pyimport("flambeau_site_cells")
  pyodide.runPython("import numpy") // not flambeau: a cell may first set environment variables that flambeau reads
}

// Load packages of Pyodide's distribution. Pyodide itself only logs failures.
const load = async names => {
  let failure = ""
  const loaded = await pyodide.loadPackage(names, {messageCallback: () => {}, errorCallback: text => { failure = text }})
  if (failure || loaded.length === 0 && names.some(name => !pyodide.loadedPackages[name]))
    throw new Error(`${names.join(", ")} could not be loaded from Pyodide's address. ${failure}`)
}

const loadImports = async (source, id) => {
  const names = pyodide.pyimport("pyodide.code").find_imports(source).toJs()
  const isMissing = name => pyodide.runPython(`import importlib.util; importlib.util.find_spec(${JSON.stringify(name)}) is None`)
  const needed = names.filter(name => !name.includes(".") && isMissing(name))
  if (needed.length) postMessage({kind: "progress", text: "Loading packages"})
  if (names.some(name => ["flambeau_vision", "torchvision"].includes(name)))
    await load(["pillow"]).catch(() => {}) // without it, flambeau_vision reads no image files
  let failure = ""
  await pyodide.loadPackagesFromImports(source, {messageCallback: () => {}, errorCallback: text => { failure = text }})
    .catch(error => { failure = error.message })
  if (failure) {
    const text = `${needed.filter(isMissing).join(", ")} could not be loaded from Pyodide's address. ${failure}\n`
    postMessage({kind: "output", id, as: "error", content: text})
  }
}

const run = async ({id, source, name}) => {
  const send = (as, content) => postMessage({kind: "output", id, as, content})
  try {
    await loadImports(source, id)
  } catch { /* a syntax error, which running the cell reports */ }
  if (!preparedFigures && pyodide.loadedPackages.matplotlib) {
    cells.prepare_figures()
    preparedFigures = true
  }
  postMessage({kind: "running", id})
  return cells.run(source, name, pyodide.globals, send)
}

let queue = Promise.resolve()
onmessage = ({data}) => {
  queue = queue.then(async () => {
    if (data.start) {
      try {
        await start(data.start)
        postMessage({kind: "ready"})
      } catch (error) {
        const because = error.cause ? `: ${error.cause.message}` : ""
        postMessage({kind: "failed", text: error.message + because})
      }
    } else {
      const {id} = data.run
      try {
        postMessage({kind: "done", id, passed: await run(data.run)})
      } catch (error) { // Python ended: out of memory, for example
        postMessage({kind: "output", id, as: "error", content: `${error}\n`})
        postMessage({kind: "ended", id})
      }
    }
  })
}
