/**
 * CSV (RFC 4180), with cells escaped so that spreadsheets never run them as formulas: names are chosen by third
 * parties.
 */

/**
 * First characters that make a cell a formula. A leading apostrophe marks it as text. The last four are full-width
 * forms.
 */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

function csvCell(cell: string | number | null): string {
  const text = cell === null ? '' : String(cell)
  const safe = typeof cell === 'string' && FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
