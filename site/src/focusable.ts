/** What axe finds in the markup of Starlight and Expressive Code, set right in the page. */
export function makeFocusable(): void {
  // The name of the search button is all of its text, with the shortcut and with spaces between its words.
  for (const button of document.querySelectorAll('button[data-open-modal]')) {
    const words = button.querySelectorAll('span, kbd kbd')
    for (const word of words) word.append(' ')
    button.ariaLabel = Array.from(words, ({ textContent }) => textContent)
      .join('')
      .trim()
  }
  const mark = (): void => {
    // Tables that are wider than the screen scroll: the keyboard has to reach them.
    for (const table of document.querySelectorAll<HTMLElement>('.sl-markdown-content table')) {
      if (table.scrollWidth > table.clientWidth) table.tabIndex = 0
      else table.removeAttribute('tabindex')
    }
    // Code that scrolls becomes a region, and regions need different names.
    for (const [index, code] of document.querySelectorAll('.expressive-code pre').entries()) {
      code.ariaLabel = code.scrollWidth > code.clientWidth ? `Code ${index + 1}` : null
    }
  }
  mark()
  addEventListener('resize', mark)
}
