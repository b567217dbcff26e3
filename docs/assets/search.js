/* Show the pages of names that equal the query before all other results of the search. */
document.addEventListener("DOMContentLoaded", () => {
  const input = document.querySelector("[data-md-component=search-query]")
  const list = document.querySelector(".md-search-result__list")
  if (!input || !list || !window.FLAMBEAU_NAMES) return // assets/names.js defines them: {name: page}
  const base = JSON.parse(document.getElementById("__config").textContent).base

  const names = Object.keys(FLAMBEAU_NAMES) // those of `torch` before those of its modules

  const find = query => {
    const ends = name => name === query || name.endsWith("." + query)
    const lower = query.toLowerCase()
    const similar = name => !ends(name) && ("." + name.toLowerCase()).endsWith("." + lower)
    return [...names.filter(ends), ...names.filter(similar)].slice(0, 5)
  }

  const item = name => {
    const result = document.createElement("li")
    result.className = "md-search-result__item exact-name"
    const link = document.createElement("a")
    link.className = "md-search-result__link"
    link.href = `${base}/${FLAMBEAU_NAMES[name]}`
    link.tabIndex = -1
    const article = document.createElement("article")
    article.className = "md-search-result__article md-typeset"
    const title = document.createElement("h1")
    title.textContent = name
    article.append(title)
    link.append(article)
    result.append(link)
    return result
  }

  const update = () => {
    observer.disconnect()
    list.querySelectorAll(".exact-name").forEach(old => old.remove())
    const query = input.value.trim().replace(/\(.*$/, "").replace(/^F\./, "functional.")
    if (query.length > 1) list.prepend(...find(query).map(item))
    observer.observe(list, {childList: true})
  }
  const observer = new MutationObserver(update)
  observer.observe(list, {childList: true})
  input.addEventListener("input", update)
})
