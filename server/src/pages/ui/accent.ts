/**
 * Accent colour of an account's pages. For readable links and buttons, the chosen colour is mixed with black on light
 * pages and with white on dark ones until the contrast is sufficient (WCAG 2.2, 1.4.3).
 */

export type Accent = { readonly light: string; readonly dark: string }

/** Backgrounds of the accent: of `--canvas` and `--surface` in latchkey.css, the one with the lower contrast. */
const LIGHT_GROUND = '#f4f5f7'
const DARK_GROUND = '#1a1e25'

/** Slightly above the required 4.5, because a hovered button is mixed with its background a little. */
const MIN_CONTRAST = 5

/** Null unless the colour is in the stored format (`#rrggbb`, lower case). */
export function accentFor(colour: string | null): Accent | null {
  if (colour === null || !/^#[0-9a-f]{6}$/.test(colour)) return null
  return { light: movedTowards('#000000', LIGHT_GROUND, colour), dark: movedTowards('#ffffff', DARK_GROUND, colour) }
}

function movedTowards(end: string, ground: string, colour: string): string {
  const steps = Array.from({ length: 21 }, (_, step) => mix(colour, end, step / 20))
  return steps.find((candidate) => contrastRatio(candidate, ground) >= MIN_CONTRAST) ?? end
}

function mix(from: string, to: string, share: number): string {
  const target = channels(to)
  const mixed = channels(from).map((value, index) => Math.round(value + ((target[index] ?? 0) - value) * share))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function channels(colour: string): readonly number[] {
  return [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16))
}

/** Between 1 and 21, as defined by WCAG 2.2. */
export function contrastRatio(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
