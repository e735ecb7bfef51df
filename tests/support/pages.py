"""What the tests of the page ask of it."""

FILES = {"report.html", "figure.png", "figure.svg", "losses.png", "scores.csv", "curves.csv"}
OVER_ALL = {"aggregate.png", "aggregate.svg", "worlds.png", "worlds.svg"}  # with several worlds and methods

NAMELESS = """() => [...document.querySelectorAll('canvas, svg, img, input, select, button, .chart')].filter((one) =>
  !one.closest('[aria-hidden=true]') && !(one.getAttribute('aria-label') || one.getAttribute('alt') ||
  one.textContent.trim() && one.tagName === 'BUTTON' || one.closest('label')?.textContent.trim())
).map((one) => one.outerHTML.slice(0, 100))"""

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
