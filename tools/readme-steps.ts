/** Parses a section of the README into steps: commands with sample responses, and files to write. */

export type Command = {
  readonly kind: 'command'
  readonly text: string
  /** Sample response in the README. */
  readonly sample: Readonly<Record<string, unknown>> | null
}

export type Step = Command | { readonly kind: 'file'; readonly path: string; readonly text: string }

/** Returns the steps in order. A JSON block is the response of the command before it; a JS block is the file named in the text before it. */
export function readSteps(markdown: string, heading: string): readonly Step[] {
  const section = markdown.split(/^(?=## )/m).find((each) => each.startsWith(`## ${heading}\n`))
  if (!section) throw new Error(`there is no section "${heading}"`)
  const steps: Step[] = []
  // Text, language, block, text, language, block …
  const parts = section.split(/^```(\w*)\n(.*?)^```$/gms)
  for (let each = 0; each + 2 < parts.length; each += 3) {
    const [prose = '', language = '', block = ''] = parts.slice(each, each + 3)
    if (language === 'sh') {
      const commands = block.replaceAll('\\\n', ' ').trim().split('\n')
      for (const text of commands) steps.push({ kind: 'command', text: text.trim(), sample: null })
    }
    if (language === 'js') {
      const path = prose.match(/`(\S+\.mjs)`/)?.[1]
      if (!path) throw new Error(`no file name before this block:\n${block}`)
      steps.push({ kind: 'file', path, text: block })
    }
    const last = steps.at(-1)
    if (language === 'json' && last?.kind === 'command') {
      steps[steps.length - 1] = { ...last, sample: JSON.parse(block) }
    }
  }
  return steps
}

/** Fills in placeholders: `app_…` becomes the last seen value with this prefix, and a sample value becomes the actual one. */
export function createFilling(): {
  see(output: string): void
  /** Records the actual response for a sample. Throws if their fields differ. */
  compare(sample: Readonly<Record<string, unknown>>, answer: Readonly<Record<string, unknown>>): void
  fill(text: string): string
} {
  let seen = ''
  const instead = new Map<string, string>()
  return {
    see: (output) => {
      seen += output
    },
    compare: (sample, answer) => {
      const [wanted, given] = [Object.keys(sample).join(', '), Object.keys(answer).join(', ')]
      if (wanted !== given) throw new Error(`the README shows ${wanted}, the service returns ${given}`)
      for (const [name, value] of Object.entries(sample)) {
        if (typeof value === 'string' && value !== '') instead.set(value, String(answer[name]))
      }
    },
    fill: (text) => {
      const filled = text.replace(/\b([a-z]{3}_)…/g, (_, prefix: string) => {
        const found = seen.match(new RegExp(`\\b${prefix}[\\w-]+`, 'g'))?.at(-1)
        if (!found) throw new Error(`no value with the prefix ${prefix} was seen`)
        return found
      })
      return [...instead].reduce((whole, [sample, real]) => whole.replaceAll(sample, real), filled)
    },
  }
}
