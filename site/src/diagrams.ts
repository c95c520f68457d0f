/** Draws the diagrams of a page in the colours of its theme, again when the theme changes. Mermaid is loaded only by pages that have one. */
const DRAWN = 'data-drawn'

/** Mermaid's own are white on dark grey. */
const LIGHT_NOTES = { noteBkgColor: '#fdf3d1', noteBorderColor: '#c9b264', noteTextColor: '#222222' }

export async function drawDiagrams(): Promise<void> {
  const diagrams = Array.from(document.querySelectorAll<HTMLElement>('pre.diagram'), (element) => ({
    element,
    source: element.textContent ?? '',
  }))
  if (diagrams.length === 0) return
  const { default: mermaid } = await import('mermaid')
  const draw = async (): Promise<void> => {
    const isDark = document.documentElement.dataset.theme === 'dark'
    mermaid.initialize({
      startOnLoad: false,
      theme: isDark ? 'dark' : 'neutral',
      themeVariables: isDark ? {} : LIGHT_NOTES,
      fontFamily: getComputedStyle(document.body).fontFamily,
      flowchart: { useMaxWidth: false },
      sequence: { useMaxWidth: false, mirrorActors: false },
    })
    for (const [index, { element, source }] of diagrams.entries()) {
      const { svg } = await mermaid.render(`diagram-${index}`, source)
      element.innerHTML = svg
      element.setAttribute(DRAWN, isDark ? 'dark' : 'light')
    }
  }
  await draw()
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ['data-theme'] })
}
