/**
 * Code samples in documents are copied from files that CI runs. A line `<!-- sample: path -->` or `<!-- sample: path#part -->` before a
 * fenced block names the file; `npm run docs` fills the block, and server/test/docs.test.ts compares it.
 *
 * A part is the text between the comments `#region part` and `#endregion`, or the declaration of that name.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

const LANGUAGES: Readonly<Record<string, string>> = {
  '.ts': 'ts',
  '.js': 'js',
  '.html': 'html',
  '.sh': 'sh',
  '.py': 'python',
  '.yaml': 'yaml',
  '.sql': 'sql',
  '.service': 'ini',
  '.conf': 'nginx',
}

const SAMPLE = /^<!-- sample: ([^\s#]+)(?:#([\w-]+))? -->\n\n?```[^\n]*\n(?:[\s\S]*?\n)??```$/gm

/** Paths relative to the root of the repository. */
export function findSampled(): readonly string[] {
  const documents = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  const names = documents.filter((name) => name.endsWith('.md')).map((name) => join('docs', name))
  return names.filter((name) => readFileSync(join(ROOT, name), 'utf8').includes('<!-- sample: ')).sort()
}

export function fillSamples(document: string): string {
  return document.replace(SAMPLE, (_whole, path: string, part?: string) => {
    const file = readFileSync(join(ROOT, path), 'utf8')
    const code = part === undefined ? withoutMarks(file) : takePart(file, part, path)
    const name = part === undefined ? path : `${path}#${part}`
    return `<!-- sample: ${name} -->\n\n\`\`\`${LANGUAGES[extname(path)] ?? 'text'}\n${code}\n\`\`\``
  })
}

const MARK = /^\s*(\/\/|#|<!--|--)\s*#(region|endregion)\b.*\n/gm

function withoutMarks(text: string): string {
  return text.replace(MARK, '').trimEnd()
}

function takePart(file: string, part: string, path: string): string {
  const found = takeRegion(file, part) ?? takeDeclaration(file, part)
  if (found === null) throw new Error(`${path} has no region and no declaration named ${part}`)
  return outdent(withoutMarks(`${found}\n`))
}

function takeRegion(file: string, part: string): string | null {
  const lines = file.split('\n')
  const from = lines.findIndex((line) => new RegExp(`#region ${part}\\b`).test(line))
  if (from === -1) return null
  let depth = 0
  const length = lines.slice(from).findIndex((line) => {
    if (/#region\b/.test(line)) depth += 1
    if (/#endregion\b/.test(line)) depth -= 1
    return depth === 0
  })
  return lines.slice(from + 1, from + length).join('\n')
}

/** Includes the comment directly above, up to the first line that is neither indented nor empty. */
function takeDeclaration(file: string, part: string): string | null {
  const lines = file.split('\n')
  const declares = new RegExp(
    `^(?:export )?(?:async )?(?:(?:function|class|const|let|type|def) ${part}\\b|${part}\\(\\) \\{)`,
  )
  const at = lines.findIndex((line) => declares.test(line))
  if (at === -1) return null
  const above = lines.slice(0, at).findLastIndex((line) => !/^(\/\*\*| \*|\/\/|#)/.test(line)) + 1
  const opens = /[{([]$/.test(lines[at] ?? '')
  const rest = lines.slice(at + 1).findIndex((line) => /^\S/.test(line))
  const end = rest === -1 ? lines.length : at + 1 + rest + (opens ? 1 : 0)
  return lines.slice(above, end).join('\n').trimEnd()
}

function outdent(text: string): string {
  const lines = text.split('\n')
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length)
  const least = Math.min(...indents)
  return lines
    .map((line) => line.slice(least))
    .join('\n')
    .trim()
}
