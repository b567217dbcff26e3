// Edit and run the Python cells of a page, and the playground. Python runs in a web worker, `assets/run-worker.js`.
(() => {
const settings = window.FLAMBEAU_RUN // assets/run-settings.js defines it: {pyodide, packages}
const base = new URL(".", document.currentScript.src)

const element = (tag, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), attributes)
  made.append(...children)
  return made
}

// --- Python ---------------------------------------------------------------------------------------------------------

let worker = null // set while Python is loaded or loading
let ready = null // a promise: resolved when Python is ready, rejected with an error for the reader
let interrupt = null // shared memory with the worker, if the page is cross-origin isolated
const waiting = new Map() // running cells by id
let nextId = 0

const onMessage = ({data}, resolve, reject) => {
  const cell = waiting.get(data.id)
  if (data.kind === "ready") resolve()
  else if (data.kind === "failed") reject(new Error(data.text))
  else if (data.kind === "progress") waiting.forEach(each => each.say(`${data.text} …`))
  else if (data.kind === "running") cell?.say("Running …")
  else if (data.kind === "output") cell?.show(data.as, data.content)
  else if (data.kind === "done") cell?.finish(data.passed)
  else if (data.kind === "ended") stop("Python ended. Variables are lost.")
}

const load = () => {
  if (ready) return ready
  if (location.protocol === "file:")
    return Promise.reject(new Error("Code runs only on pages from a web server: `python -m http.server` in the site's folder."))
  worker = new Worker(new URL("run-worker.js", base), {type: "module"})
  interrupt = window.crossOriginIsolated ? new Uint8Array(new SharedArrayBuffer(1)) : null
  ready = new Promise((resolve, reject) => {
    worker.onmessage = message => onMessage(message, resolve, reject)
    worker.onerror = () => reject(new Error("The web worker that runs Python could not be started."))
  })
  ready.catch(() => { worker?.terminate(); worker = ready = null })
  const address = new URL(settings.pyodide.replace(/\/?$/, "/"), base.href)
  worker.postMessage({start: {address: address.href, packages: new URL(settings.packages, base).href, interrupt}})
  return ready
}

// Run a cell. Return whether it ended without an exception.
const runInPython = async (cell, source, name) => {
  const id = nextId++
  const finished = new Promise(resolve => { cell.finish = resolve })
  waiting.set(id, cell)
  try {
    await load()
    if (interrupt) interrupt[0] = 0
    worker.postMessage({run: {id, source, name}})
    return await finished
  } finally {
    waiting.delete(id)
  }
}

const stop = text => {
  worker?.terminate()
  worker = ready = null
  cells.forEach(cell => { cell.ran = false })
  waiting.forEach(cell => { cell.show("error", text + "\n"); cell.finish(false) })
}

const stopOrInterrupt = () => {
  const running = [...waiting.keys()]
  const lost = "Stopped. Variables are lost: the next run starts Python again."
  if (!interrupt) return stop(lost)
  interrupt[0] = 2 // SIGINT
  setTimeout(() => { if (running.some(id => waiting.has(id))) stop(lost) }, 3000) // a call into compiled code goes on
}

// --- colours --------------------------------------------------------------------------------------------------------

// Edited code keeps its colours by ranges, so that the caret and undo are the browser's.
const TOKENS = new RegExp([
  /(?<comment>#.*)/,
  /(?<string>\b[rbfu]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))/i,
  /(?<=\b(?:def|class)\s+)(?<function>\w+)|(?<decorator>^[ \t]*@[\w.]+)/m,
  /(?<keyword>\b(?:False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)\b)/,
  /(?<number>\b(?:0x[\da-f_]+|\d[\d_]*\.?\d*(?:e[-+]?\d+)?)\b)/i,
].map(part => part.source).join("|"), "gmi")

const colour = code => {
  if (!CSS.highlights) return
  for (const kind of ["comment", "string", "function", "decorator", "keyword", "number"]) {
    const name = `run-${kind}`
    if (!CSS.highlights.has(name)) CSS.highlights.set(name, new Highlight())
    const ranges = CSS.highlights.get(name)
    ranges.forEach(range => { if (code.contains(range.startContainer) || range.collapsed) ranges.delete(range) })
  }
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(), offset = 0, text = code.textContent; node; node = walker.nextNode()) {
    for (const found of text.matchAll(TOKENS)) {
      const start = found.index - offset, end = start + found[0].length
      if (end <= 0 || start >= node.length) continue
      const range = new StaticRange({startContainer: node, startOffset: Math.max(start, 0), endContainer: node,
        endOffset: Math.min(end, node.length)})
      const kind = Object.keys(found.groups).find(each => found.groups[each] !== undefined)
      CSS.highlights.get(`run-${kind}`).add(range)
    }
    offset += node.length
  }
}

// --- cells ----------------------------------------------------------------------------------------------------------

const cells = []

class Cell {
  constructor(block) {
    this.block = block
    this.code = block.querySelector("code")
    this.original = this.code.textContent
    this.ran = false
    this.recorded = recordedOutputs(block)
    this.raises = block.classList.contains("raises")
    this.number = cells.push(this)
    this.button = element("button", {className: "run-button", type: "button", title: "Run (Ctrl+Enter)"})
    this.button.append(element("span", {className: "run-label", textContent: "Run"}))
    this.button.onclick = () => this.running ? stopOrInterrupt() : this.runWithEarlier()
    this.reset = element("button", {className: "run-reset", type: "button", textContent: "Reset", hidden: true})
    this.reset.onclick = () => this.restore()
    this.status = element("span", {className: "run-status", role: "status"})
    block.append(element("div", {className: "run-bar"}, this.button, this.status, this.reset))
    this.output = element("div", {className: "run-output"})
    block.after(this.output)
    this.makeEditable()
  }

  makeEditable() {
    const code = this.code
    code.contentEditable = "plaintext-only"
    if (code.contentEditable !== "plaintext-only") code.contentEditable = "true"
    Object.assign(code, {spellcheck: false, role: "textbox", ariaMultiLine: "true", ariaLabel: `Python code ${this.number}`})
    code.setAttribute("autocapitalize", "off")
    let edited = false
    const plain = () => { // before the caret is placed: coloured elements become text
      if (!CSS.highlights || code.childElementCount === 0) return
      code.textContent = this.source
      colour(code)
    }
    this.block.addEventListener("pointerdown", event => { if (code.contains(event.target)) plain() }, {capture: true})
    code.addEventListener("focus", plain)
    code.addEventListener("blur", () => { edited = false })
    code.addEventListener("input", () => {
      edited = true
      this.reset.hidden = this.source === this.original
      this.forget()
      colour(code)
    })
    code.addEventListener("keydown", event => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) {
        event.preventDefault()
        this.runWithEarlier()
      } else if (event.key === "Enter" && !event.isComposing) {
        event.preventDefault()
        document.execCommand("insertText", false, "\n" + indentation(code))
      } else if (event.key === "Tab" && edited && !event.shiftKey && !event.ctrlKey && !event.altKey) {
        event.preventDefault() // after an edit, Tab indents; Escape makes it leave the block again
        document.execCommand("insertText", false, "    ")
      } else if (event.key === "Escape") {
        edited = false
      }
    })
  }

  get source() { return this.code.textContent.replace(/\n$/, "") }

  set source(text) {
    this.code.textContent = text.replace(/\n$/, "") + "\n"
    colour(this.code)
    this.forget()
  }

  restore() {
    this.source = this.original.replace(/\n$/, "")
    this.reset.hidden = true
    this.clear()
    this.recorded.forEach(each => { each.hidden = false })
    this.say("")
  }

  forget() { for (const cell of cells.slice(this.number - 1)) cell.ran = false }

  say(text) { this.status.textContent = text }

  clear() { this.output.replaceChildren() }

  async runWithEarlier() {
    if (waiting.size) return
    if (!this.ran) // a cell that ran runs again alone, as in a notebook
      for (const earlier of cells.slice(0, this.number - 1))
        if (!earlier.ran && !await earlier.run()) return this.say(`Not run: block ${earlier.number} above failed.`)
    await this.run()
  }

  async run() {
    this.recorded.forEach(each => { each.hidden = true })
    this.clear()
    this.running = true
    this.button.classList.add("running")
    this.button.firstChild.textContent = "Stop"
    this.say("Loading Python …")
    const start = performance.now()
    try {
      this.ran = await runInPython(this, this.source, `block ${this.number}`) || this.raises && worker !== null
      this.say(this.ran ? `${((performance.now() - start) / 1000).toFixed(1)} s` : "")
    } catch (error) {
      const offline = navigator.onLine ? "Check the network connection" : "There is no network connection"
      this.show("error", location.protocol === "file:" ? error.message : `${error.message}\n${offline}, and run the block again.\n`)
      this.say("")
    } finally {
      this.running = false
      this.button.classList.remove("running")
      this.button.firstChild.textContent = "Run"
    }
    return this.ran
  }

  show(kind, content) {
    if (kind === "svg") {
      const picture = element("img", {className: "drawn", alt: "A picture that the block above draws"})
      picture.src = `data:image/svg+xml;base64,${content}`
      this.output.append(picture)
    } else if (kind === "html") {
      // a frame with another origin: scripts in the output work, and cannot reach this page
      const frame = element("iframe", {className: "shown", title: "Output of the block above", sandbox: "allow-scripts"})
      frame.srcdoc = framed(content, getComputedStyle(this.output))
      this.output.append(frame)
    } else {
      const last = this.output.lastElementChild
      const code = last?.matches(`.printed.${kind}`) ? last.querySelector("code") : element("code", {tabIndex: 0})
      if (!code.isConnected)
        this.output.append(element("div", {className: `printed highlight ${kind}`}, element("pre", {}, code)))
      const text = code.textContent + content.replace(/\x1b\[[0-9;]*m/g, "")
      code.textContent = text.replace(/[^\n]*\r(?!\n)/g, "") // progress bars write over their line
    }
  }
}

// A document with the page's font and colours, which sends its height.
const framed = (content, style) => `<!doctype html>
<style>:root { color-scheme: ${style.colorScheme} } body { color: ${style.color}; font: ${style.font}; margin: 0 }</style>
${content}
<script>new ResizeObserver(() => parent.postMessage({height: document.body.scrollHeight}, "*")).observe(document.body)</script>`

addEventListener("message", ({source, data}) => {
  const frame = [...document.querySelectorAll(".run-output iframe.shown")].find(each => each.contentWindow === source)
  if (frame && Number.isFinite(data?.height)) frame.style.height = `${data.height}px`
})

// The outputs that the build recorded, between a cell and the next other element.
const recordedOutputs = block => {
  const found = []
  for (let next = block.nextElementSibling; next; next = next.nextElementSibling) {
    if (!next.matches(".printed, .shown, .drawn") && !(next.tagName === "P" && next.querySelector(":scope > img.drawn"))) break
    found.push(next)
  }
  return found
}

// The indentation of the caret's line, and four more spaces after a colon.
const indentation = code => {
  const selection = getSelection()
  const before = document.createRange()
  before.setStart(code, 0)
  before.setEnd(selection.anchorNode, selection.anchorOffset)
  const line = before.toString().split("\n").pop()
  return line.match(/^ */)[0] + (/:\s*(#.*)?$/.test(line) ? "    " : "")
}

// --- the playground -------------------------------------------------------------------------------------------------

const packed = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer())

const toFragment = async text => {
  const bytes = await packed(new TextEncoder().encode(text), new CompressionStream("deflate-raw"))
  return "code=" + btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")
}

const fromFragment = async fragment => {
  const text = fragment.match(/^#?code=([\w-]+)$/)?.[1]
  if (!text) return null
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), letter => letter.charCodeAt(0))
  return new TextDecoder().decode(await packed(bytes, new DecompressionStream("deflate-raw")))
}

const makePlayground = async place => {
  const examples = [...place.querySelectorAll("script")].map(each => ({name: each.dataset.name, text: each.textContent.trim()}))
  const choice = element("select", {id: "example"}, ...examples.map(({name}) => element("option", {textContent: name})))
  const link = element("button", {type: "button", className: "run-link", textContent: "Copy link"})
  const said = element("span", {className: "run-status", role: "status"})
  const block = element("div", {className: "cell highlight"}, element("pre", {}, element("code")))
  place.replaceChildren(
    element("div", {className: "run-choices"}, element("label", {htmlFor: "example", textContent: "Example"}), choice, link, said),
    block)
  const cell = new Cell(block)
  const choose = () => {
    cell.source = examples[choice.selectedIndex].text
    cell.original = cell.code.textContent
    cell.restore()
  }
  choice.onchange = () => { history.replaceState(null, "", location.pathname); choose() }
  const read = async () => {
    const text = await fromFragment(location.hash).catch(() => null)
    if (text === null) {
      if (location.hash.startsWith("#code=")) said.textContent = "The link's code cannot be read."
      return choose()
    }
    cell.source = text
    cell.original = cell.code.textContent
    cell.restore()
    cell.say("Code from a link. Read it before you run it.")
  }
  link.onclick = async () => {
    history.replaceState(null, "", "#" + await toFragment(cell.source))
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false)
    said.textContent = copied ? "Copied" : "The link is in the address bar"
  }
  addEventListener("hashchange", read)
  await read()
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".cell.highlight").forEach(block => new Cell(block))
  const place = document.getElementById("playground-editor")
  if (place) makePlayground(place)
})
})()
