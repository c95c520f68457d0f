/** Comma-separated values (RFC 4180) that a spreadsheet takes for text, whatever somebody called their application. */

/** What begins like this is a formula to spreadsheets; an apostrophe in front says that it is text. The last four are wide forms. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

function csvCell(cell: string | number | null): string {
  const text = cell === null ? '' : String(cell)
  const safe = typeof cell === 'string' && FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
