/** A user without a mouse: presses Tab and checks that the focus is visible at every stop (WCAG 2.2, 2.4.7 and 2.4.11). */
import type { Page } from 'playwright-core'

const MAX_STOPS = 60

type Stop = { readonly name: string; readonly outlined: boolean; readonly inWindow: boolean }

const STOP = `(() => {
  const element = document.activeElement
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element)
  const box = element.getBoundingClientRect()
  const label = element.labels?.[0] ?? element
  return {
    name: label.innerText.trim(),
    outlined: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && !/, 0\\)$/.test(outlineColor),
    inWindow: box.width > 0 && box.height > 0 && box.top >= 0 && box.bottom <= innerHeight,
  }
})()`

/** Number of Tab presses to the element with this name. */
export async function tabTo(page: Page, name: string): Promise<number> {
  const names: string[] = []
  while (names.length < MAX_STOPS) {
    await page.keyboard.press('Tab')
    const stop = await page.evaluate<Stop>(STOP)
    names.push(stop.name)
    if (!stop.outlined) throw new Error(`one cannot see that "${stop.name}" has the focus`)
    if (!stop.inWindow) throw new Error(`"${stop.name}" has the focus and is out of sight`)
    if (stop.name.startsWith(name)) return names.length
  }
  throw new Error(`the keyboard does not get to "${name}", only to: ${names.join(', ')}`)
}
