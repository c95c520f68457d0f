/** A section of the README as somebody reads it who does what it says: commands, files to write, and answers that are shown. */

export type Command = {
  readonly kind: 'command'
  readonly text: string
  /** What the README shows as its answer. */
  readonly sample: Readonly<Record<string, unknown>> | null
}

export type Step = Command | { readonly kind: 'file'; readonly path: string; readonly text: string }

/** In their order. A JSON block is what the command before it answers; a JS block is the file that the text before it names. */
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
      if (!path) throw new Error(`nothing says where this goes:\n${block}`)
      steps.push({ kind: 'file', path, text: block })
    }
    const last = steps.at(-1)
    if (language === 'json' && last?.kind === 'command') {
      steps[steps.length - 1] = { ...last, sample: JSON.parse(block) }
    }
  }
  return steps
}

/** What a reader puts in: for `app_…` what they last saw that begins so, and for a value of a sample what they got instead. */
export function createFilling(): {
  see(output: string): void
  /** That the command with this sample answered so. The two have the same fields, or the README is out of date. */
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
      if (wanted !== given) throw new Error(`the README shows ${wanted}, the service answers ${given}`)
      for (const [name, value] of Object.entries(sample)) {
        if (typeof value === 'string' && value !== '') instead.set(value, String(answer[name]))
      }
    },
    fill: (text) => {
      const filled = text.replace(/\b([a-z]{3}_)…/g, (_, prefix: string) => {
        const found = seen.match(new RegExp(`\\b${prefix}[\\w-]+`, 'g'))?.at(-1)
        if (!found) throw new Error(`nothing that begins with ${prefix} was seen`)
        return found
      })
      return [...instead].reduce((whole, [sample, real]) => whole.replaceAll(sample, real), filled)
    },
  }
}
