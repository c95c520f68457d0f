/** Finds every regular expression in a source by scanning it, outside of strings and comments. */
export type Expression = { readonly source: string; readonly flags: string; readonly line: number }

/** A slash after one of these starts an expression; otherwise it divides or closes a tag. */
const BEFORE = /(?:^|[(,=:[!&|?;+~*%^{]|=>|\b(?:return|typeof|case))$/

export function expressionsIn(code: string): Expression[] {
  const found: Expression[] = []
  scan(code, code.startsWith('#!') ? code.indexOf('\n') : 0, found)
  return found
}

/** Scans to the closing brace or to the end, and returns that position. */
function scan(code: string, from: number, found: Expression[]): number {
  let before = ''
  let depth = 0
  for (let at = from; at < code.length; at += 1) {
    const [one = '', two] = [code[at], code.slice(at, at + 2)]
    if (two === '//') at = endOf(code, at, '\n')
    else if (two === '/*') at = endOf(code, at, '*/') + 1
    else if (one === "'" || one === '"' || one === '`') {
      at = closing(code, at, found)
      before = 'text'
    } else if (one === '/' && BEFORE.test(before.trimEnd())) {
      const literal = literalAt(code, at)
      const { source, flags } = literal
      found.push({ source, flags, line: code.slice(0, at).split('\n').length })
      at += literal.length - 1
      before = 'expression'
    } else {
      if (one === '{') depth += 1
      if (one === '}' && depth === 0) return at
      if (one === '}') depth -= 1
      before = (before + one).replace(/\s+$/, ' ').slice(-10)
    }
  }
  return code.length
}

function endOf(code: string, from: number, mark: string): number {
  const at = code.indexOf(mark, from)
  return at === -1 ? code.length : at
}

/** End of a string; a lone apostrophe is skipped. Substitutions of a template are scanned as code. */
function closing(code: string, from: number, found: Expression[]): number {
  for (let at = from + 1; at < code.length; at += 1) {
    if (code[at] === '\\') at += 1
    else if (code[at] === code[from]) return at
    else if (code[at] === '\n' && code[from] !== '`') return from
    else if (code[from] === '`' && code.startsWith('${', at)) at = scan(code, at + 2, found)
  }
  return code.length
}

function literalAt(code: string, from: number): { source: string; flags: string; length: number } {
  let inClass = false
  for (let at = from + 1; at < code.length && code[at] !== '\n'; at += 1) {
    if (code[at] === '\\') at += 1
    else if (code[at] === '[') inClass = true
    else if (code[at] === ']') inClass = false
    else if (code[at] === '/' && !inClass) {
      const flags = /^[a-z]*/.exec(code.slice(at + 1, at + 10))?.[0] ?? ''
      return { source: code.slice(from + 1, at), flags, length: at + 1 + flags.length - from }
    }
  }
  throw new Error(`an expression has no end: ${code.slice(from, from + 80)}`)
}
