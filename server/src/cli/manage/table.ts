/** Resources of the management API for people: a list as a table, one as lines of member and value. */
import type { Resource } from './management-client.ts'

export function formatList(columns: readonly string[], items: readonly Resource[]): string {
  if (items.length === 0) return 'None.'
  const rows = [columns.map(titleOf), ...items.map((item) => columns.map((column) => cellOf(item[column])))]
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export function formatResource(resource: Resource): string {
  const width = Math.max(...Object.keys(resource).map((name) => name.length))
  return Object.entries(resource)
    .map(([name, value]) => `${titleOf(name).padEnd(width)}  ${cellOf(value)}`)
    .join('\n')
}

const titleOf = (member: string) => member.replaceAll('_', ' ')

function cellOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(cellOf).join(' ') || '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'object' && value !== null) return Object.values(value).map(cellOf).join(' ')
  return value === null || value === undefined || value === '' ? '-' : String(value)
}
