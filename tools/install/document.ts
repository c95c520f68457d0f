/** Commands of docs/install.md and other pages, as written: the code blocks of a section, split into commands that a shell runs one after the other. */
import { readFileSync } from 'node:fs'

export type Block = { readonly language: string; readonly text: string }

/** Code blocks of a section, up to the next heading of any level. */
export function blocksOf(heading: string, page = 'docs/install.md'): readonly Block[] {
  const section = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
    .split(/^(?=#+ )/m)
    .find((each) => each.replace(/^#+ /, '').startsWith(`${heading}\n`))
  if (!section) throw new Error(`${page} has no section "${heading}"`)
  return Array.from(section.matchAll(/^```(\w+)\n(.*?)^```$/gms), ([, language = '', text = '']) => ({
    language,
    text,
  }))
}

/** Commands of a block: one per line, with continued lines and here-documents in one piece. */
export function commandsOf({ text }: Block): readonly string[] {
  const commands: string[] = []
  let end: string | null = null
  let continues = false
  for (const line of text.trimEnd().split('\n')) {
    const last = commands.length - 1
    if (end !== null || continues) commands[last] += `\n${line}`
    else commands.push(line)
    continues = end === null && line.endsWith('\\')
    if (end === null) end = /<<'(\w+)'$/.exec(line)?.[1] ?? null
    else if (line === end) end = null
  }
  return commands
}

/** What is not as in the document: `from` becomes `to`, and the reason that is printed. */
export type Substitution = { readonly from: string; readonly to: string; readonly why: string }

/** Replaces, prints the substitutions, and throws if one of them is not used: the document has changed. */
export function substitute(title: string, text: string, substitutions: readonly Substitution[]): string {
  return substitutions.reduce((whole, { from, to, why }) => {
    if (!whole.includes(from)) throw new Error(`${title}: the document no longer has "${from}"`)
    console.log(`           instead of ${JSON.stringify(from)}: ${JSON.stringify(to)} (${why})`)
    return whole.replaceAll(from, to)
  }, text)
}
