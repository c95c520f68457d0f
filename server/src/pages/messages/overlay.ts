/**
 * Overlays of the operator: a file per language, which replaces single texts of a language or is a whole further language.
 * Checked at startup, because a text that lacks the name of an application or a warning would be noticed by users only.
 */
import { IntlMessageFormat } from 'intl-messageformat'
import en from './en.json' with { type: 'json' }

export type MessageKey = keyof typeof en

export type Overlay = {
  /** Two letters (ISO 639-1). */
  readonly code: string
  readonly messages: Readonly<Partial<Record<MessageKey, string>>>
}

/** One line per problem, without the name of the file. Empty: the overlay can be used. */
export function overlayProblems(code: string, given: unknown, isBuiltIn: boolean): readonly string[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return ['is not a JSON object of texts']
  const texts = Object.entries(given)
  const problems = texts.flatMap(([key, text]) => {
    const problem = textProblem(code, key, text)
    return problem === null ? [] : [`${key}: ${problem}`]
  })
  const missing = isBuiltIn ? [] : Object.keys(en).filter((key) => !Object.hasOwn(given, key))
  return [...problems, ...missing.map((key) => `${key}: is missing; a further language needs every text`)]
}

function textProblem(code: string, key: string, text: unknown): string | null {
  if (!Object.hasOwn(en, key)) return 'is not the key of a text'
  if (typeof text !== 'string' || text.trim() === '') return 'is not a text'
  const [read, expected] = [readMessage(text, code), readMessage(en[key as MessageKey], 'en')]
  if (typeof read === 'string') return `cannot be read: ${read}`
  if (read.markup) return 'contains HTML'
  const wanted = [...(typeof expected === 'string' ? [] : expected.names)].sort()
  const names = [...read.names].sort()
  if (String(wanted) === String(names)) return null
  return `takes ${names.join(', ') || 'nothing'} instead of ${wanted.join(', ') || 'nothing'}`
}

type ReadMessage = {
  /** Placeholders as `{name}`, elements as `<name>`. */
  readonly names: ReadonlySet<string>
  /** A literal text looks like HTML. */
  readonly markup: boolean
}

/** Types of the parts of a message (intl-messageformat). */
const [LITERAL, POUND, TAG] = [0, 7, 8]

function readMessage(text: string, locale: string): ReadMessage | string {
  const names = new Set<string>()
  let markup = false
  const walk = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    if ('type' in part && 'value' in part && part.type !== POUND) {
      const value = String(part.value)
      if (part.type === LITERAL) markup ||= /<|&[a-z#0-9]+;/i.test(value)
      else names.add(part.type === TAG ? `<${value}>` : `{${value}}`)
    }
    for (const each of Object.values(part)) walk(each)
  }
  try {
    walk(new IntlMessageFormat(text, locale).getAst())
    return { names, markup }
  } catch (error) {
    return (error as Error).message.split('\n')[0] ?? ''
  }
}
