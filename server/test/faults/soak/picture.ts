/** The picture of a soak: one small chart per kind of figure over time, as SVG that follows the reader's light or dark theme. */
import { KINDS, type Kind, type Sample, type Series, seriesOf } from './figures.ts'
import type { Point } from './growth.ts'

const [WIDTH, COLUMN, PANEL, PLOT] = [880, 440, 190, { left: 52, top: 40, width: 215, height: 112 }] as const

/** In each chart the largest ones are named; the others are one line. */
const NAMED = 5

/** Points of a line: more would not be seen. */
const POINTS = 120

const STYLE = `
  .soak { font: 12px system-ui, sans-serif; --ink: #1f2328; --quiet: #656d76; --rule: #d0d7de; --paper: #ffffff;
    --c0: #0969da; --c1: #bc4c00; --c2: #1a7f37; --c3: #8250df; --c4: #bf3989; --c5: #656d76 }
  @media (prefers-color-scheme: dark) { .soak { --ink: #e6edf3; --quiet: #9198a1; --rule: #3d444d; --paper: #0d1117;
    --c0: #4493f8; --c1: #f0883e; --c2: #3fb950; --c3: #ab7df8; --c4: #db61a2; --c5: #9198a1 } }
  .soak rect { fill: var(--paper) } .soak text { fill: var(--quiet) } .soak .title { fill: var(--ink); font-weight: 600 }
  .soak .rule { stroke: var(--rule); fill: none } .soak polyline { fill: none; stroke-width: 1.5; stroke-linejoin: round }
  .soak .fault { stroke: var(--rule); stroke-dasharray: 1 3 }`

export function drawSoak(samples: readonly Sample[], caption: string): string {
  const kinds = KINDS.filter(({ name }) => seriesOf(samples, name).length > 0)
  const rows = Math.ceil(kinds.length / 2)
  const height = 36 + rows * PANEL
  const lastsMinutes = (samples.at(-1)?.seconds ?? 0) / 60
  const panels = kinds.map((kind, at) => {
    const place = `translate(${(at % 2) * COLUMN} ${36 + Math.floor(at / 2) * PANEL})`
    return `<g transform="${place}">${drawPanel(kind, samples, lastsMinutes)}</g>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" class="soak" role="img" aria-label="${escaped(caption)}">`,
    `<style>${STYLE}</style>`,
    `<rect width="${WIDTH}" height="${height}"/>`,
    `<text class="title" x="12" y="22">${escaped(caption)}</text>`,
    ...panels,
    '</svg>\n',
  ].join('\n')
}

function drawPanel(kind: Kind, samples: readonly Sample[], lastsMinutes: number): string {
  const lines = named(seriesOf(samples, kind.name))
  const top = roundUp(Math.max(1e-9, ...lines.flatMap(({ points }) => points.map(({ value }) => value))))
  const { left, width, height, top: above } = PLOT
  const x = (seconds: number) => left + (seconds / 60 / Math.max(lastsMinutes, 1e-9)) * width
  const y = (value: number) => above + height - (value / top) * height
  const unit = kind.unit === '' ? '' : ` ${kind.unit}`
  const steps = [0, top / 2, top].map(
    (value) =>
      `<path class="rule" d="M${left} ${at(y(value))}h${width}"/><text x="${left - 6}" y="${at(y(value) + 4)}" text-anchor="end">${plain(value)}</text>`,
  )
  const minutes = [0, lastsMinutes / 2, lastsMinutes].map(
    (value, index) =>
      `<text x="${at(x(value * 60))}" y="${above + height + 18}" text-anchor="middle">${plain(value)}${index === 2 ? ' min' : ''}</text>`,
  )
  const faults = samples
    .filter(({ fault }) => fault !== undefined)
    .map(({ seconds }) => `M${at(x(seconds))} ${above}v${height}`)
  return [
    `<text class="title" x="12" y="24">${escaped(kind.title)}${kind.unit === '' ? '' : `,${unit}`}</text>`,
    faults.length === 0 ? '' : `<path class="fault" d="${faults.join('')}"/>`,
    ...steps,
    ...minutes,
    ...lines.map(({ points }, index) => {
      const shown = thin(points).map(({ seconds, value }) => `${at(x(seconds))},${at(y(value))}`)
      return `<polyline stroke="var(--c${index})" points="${shown.join(' ')}"/>`
    }),
    ...lines.map(({ name, points }, index) => {
      const last = points.at(-1)?.value ?? 0
      return `<text x="${left + width + 10}" y="${above + 10 + index * 17}" style="fill:var(--c${index})">${escaped(name)} ${plain(last)}</text>`
    }),
  ].join('')
}

/** The largest by their last value, and the sum of the others. */
function named(all: readonly Series[]): readonly Series[] {
  const largest = all.toSorted((one, other) => lastOf(other) - lastOf(one))
  if (largest.length <= NAMED + 1) return largest
  const others = largest.slice(NAMED)
  const times = [...new Set(others.flatMap(({ points }) => points.map(({ seconds }) => seconds)))].sort((a, b) => a - b)
  const sums = times.map((seconds) => ({
    seconds,
    value: others.reduce(
      (sum, { points }) => sum + (points.findLast((point) => point.seconds <= seconds)?.value ?? 0),
      0,
    ),
  }))
  return [...largest.slice(0, NAMED), { name: `${others.length} others`, points: sums }]
}

const lastOf = ({ points }: Series) => points.at(-1)?.value ?? 0

/** The highest of each stretch: a peak is not left out. */
function thin(points: readonly Point[]): readonly Point[] {
  const stretch = Math.ceil(points.length / POINTS)
  return Array.from({ length: Math.ceil(points.length / stretch) }, (_, index) =>
    points
      .slice(index * stretch, (index + 1) * stretch)
      .reduce((highest, point) => (point.value > highest.value ? point : highest)),
  )
}

/** To 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power
}

function plain(value: number): string {
  return String(Number(value.toFixed(value < 10 ? 1 : 0)))
}

function at(value: number): string {
  return value.toFixed(1)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
