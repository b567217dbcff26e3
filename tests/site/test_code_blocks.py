"""Code fits into its box: no line of a code block is wider than the block, in a window of 1,280 pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .conftest import SITE

# Puts the main part of each page into the current page, and returns the text of each block that is too narrow for its lines.
MEASURE = """
const [pages, style, done] = arguments;
(async () => {
  const sheet = document.createElement("style");
  sheet.textContent = style;
  document.head.append(sheet);
  const wide = [];
  let blocks = 0;
  for (const page of pages) {
    const text = await (await fetch(page)).text();
    const main = new DOMParser().parseFromString(text, "text/html").querySelector(".md-main");
    document.querySelector(".md-main").replaceWith(document.adoptNode(main));
    main.querySelectorAll("details").forEach((each) => { each.open = true; });
    for (const block of main.querySelectorAll("pre, pre > code")) {
      blocks += 1;
      if (block.scrollWidth > block.clientWidth + 1) wide.push(`${page}: ${block.innerText.slice(0, 100)}`);
    }
  }
  sheet.remove();
  done([blocks, wide]);
})();
"""


def test_no_line_of_code_is_wider_than_its_block(serve: Callable[..., str], browser: Any) -> None:
    browser.get(f"{serve()}/reference/torch.exp.html")
    assert browser.execute_script("return window.innerWidth") == 1280
    pages = [f"/{path.relative_to(SITE).as_posix()}" for path in sorted(SITE.rglob("*.html"))]
    batches = [pages[start : start + 100] for start in range(0, len(pages), 100)]  # a call may take two minutes
    results = [browser.execute_async_script(MEASURE, batch, "") for batch in batches]
    assert sum(blocks for blocks, _ in results) > len(pages)
    assert not [block for _, wide in results for block in wide]


def test_lines_that_are_not_wrapped_are_found(serve: Callable[..., str], browser: Any) -> None:
    browser.get(f"{serve()}/reference/torch.exp.html")
    unwrapped = ".md-typeset .highlight pre > code { white-space: pre !important; }"
    _, wide = browser.execute_async_script(MEASURE, ["/reference/torch.zeros.html"], unwrapped)
    assert wide
