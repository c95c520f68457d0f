/** Prometheus exposition format, version 0.0.4. docs/operations/monitoring.md, "Metrics". */
import type { Distribution, Family, Labels } from './family.ts'

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function writeExposition(families: readonly Family[]): string {
  return families.map(writeFamily).join('')
}

function writeFamily(family: Family): string {
  const { name, help, type } = family
  const lines =
    family.type === 'histogram'
      ? family.samples.flatMap((sample) => writeDistribution(name, family.bounds, sample))
      : family.samples.map(({ labels, value }) => writeSample(name, labels, value))
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

/** Buckets are cumulative: each includes the smaller ones. */
function writeDistribution(name: string, bounds: readonly number[], { labels, counts, sum }: Distribution): string[] {
  let upTo = 0
  const buckets = counts.map((count, index) => {
    upTo += count
    const bound = bounds[index]
    return writeSample(`${name}_bucket`, { ...labels, le: bound === undefined ? '+Inf' : String(bound) }, upTo)
  })
  return [...buckets, writeSample(`${name}_sum`, labels, sum), writeSample(`${name}_count`, labels, upTo)]
}

function writeSample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${writeNumber(value)}`
}

/** Writes NaN and infinities as Go spells them. */
function writeNumber(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
