/**
 * Replaces `node:util` in a bundle for pages: prints an object as the console shows it, with hidden
 * properties and those of an error.
 */
export function inspect(value: unknown): string {
  const seen = new Set<object>()
  const show = (each: unknown): string => {
    if (typeof each !== 'object' || each === null) return String(each)
    if (seen.has(each)) return ''
    seen.add(each)
    const items = each instanceof Map || each instanceof Set ? [...each].flat() : []
    const properties = Reflect.ownKeys(each).map((name) => {
      const { value: held } = Object.getOwnPropertyDescriptor(each, name) ?? {}
      return `${String(name)}: ${show(held)}`
    })
    return `${Object.prototype.toString.call(each)} { ${[...properties, ...items.map(show)].join(', ')} }`
  }
  return show(value)
}
