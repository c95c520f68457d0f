/**
 * Documents that are generated from the sources, so that they cannot drift from them, and code in other documents that is taken
 * from files (samples.ts). server/test/docs.test.ts keeps what is in docs/ equal to what this file renders.
 *
 *   npm run docs    write them
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { options } from '../server/src/config.ts'
import { type RefusalCode, refusals } from '../server/src/core/refusal.ts'
import { describeRoutes } from '../server/src/http/openapi/document.ts'
import { routes } from '../server/src/http/routes.ts'
import { fillSamples, findSampled } from './samples.ts'

const DOCS = join(import.meta.dirname, '..', 'docs')

/** docs/interface.md, "Errors": the five outcomes of a poll beside `accepted`, in its order. */
const POLL_OUTCOMES: readonly RefusalCode[] = ['auth_pending', 'slow_down', 'auth_expired', 'auth_rejected', 'invalid']

function generatedFrom(source: string): string {
  return `<!-- Generated from ${source} by \`npm run docs\`. To change this page, change that file and run it again. -->`
}

export function renderErrors(): string {
  const others = (Object.keys(refusals) as RefusalCode[]).filter((code) => !POLL_OUTCOMES.includes(code))
  return `${generatedFrom('server/src/core/refusal.ts')}

# Errors

Every refusal is one object with two fields, in JSON or, with \`.xml\` after the path, in XML:

\`\`\`json
${JSON.stringify({ error: 'auth_pending', message: refusals.auth_pending.message }, null, 2)}
\`\`\`

Let your program look at \`error\`: the codes on this page are part of the interface and do not change. Show \`message\` to a
developer, not to a user, and do not compare it: it is worded for people, and sometimes says more than this page.

The standard dialect (\`/oauth/…\`) has \`error\` and \`error_description\` instead, with the names of the RFCs; where such a name differs, it
is given below. A status of 403 is 400 there.

## Outcomes of a poll

A poll has six outcomes. One is \`accepted\`, with HTTP status 200 and the token set or the access key. These are the other
five.

${POLL_OUTCOMES.map(renderRefusal).join('\n')}
## Everything else

${others.map(renderRefusal).join('\n')}`
}

function renderRefusal(code: RefusalCode): string {
  const { status, standard, message, remedy } = refusals[code]
  return `### \`${code}\`

HTTP ${status}. “${message}”
${standard === code ? '' : `\nIn the standard dialect: \`${standard}\`.\n`}
**What to do:** ${remedy}
`
}

export function renderConfiguration(): string {
  return `${generatedFrom('server/src/config.ts')}

# Configuration

Latchkey reads its configuration from environment variables, once, when it starts. If something is missing or cannot be read,
it says everything that is wrong in one go and ends with status 2. An empty variable counts as absent.

Variables that hold a secret can also be given as a file: set the name with \`_FILE\` at its end to the file's path, and leave
the variable itself out. White space around the file's content does not count.

${Object.values(options).map(renderOption).join('\n')}`
}

function renderOption({ env, secret, fallback, about, example }: (typeof options)[keyof typeof options]): string {
  const absent = fallback === null ? 'none; it has to be given' : fallback === '' ? 'none' : `\`${fallback}\``
  const file = secret ? `- As a file: \`${env}_FILE\`\n` : ''
  return `## \`${env}\`

${about}

- Default: ${absent}
- Example: \`${env}=${example}\`
${file}`
}

/** The description that a server hands out at /openapi.json, for the address that it has when nobody chose one. */
export function renderOpenApi(): string {
  const comment =
    '# Generated from server/src/http/ by `npm run docs`. To change this page, change that folder and run it again.'
  const document = describeRoutes(routes, options.publicUrl.fallback ?? '')
  return `${comment}\n\n${stringify(document, { lineWidth: 0, blockQuote: 'literal', aliasDuplicateObjects: false })}`
}

/** By their name in docs/. */
export const documents: Readonly<Record<string, () => string>> = {
  'errors.md': renderErrors,
  'configuration.md': renderConfiguration,
  'openapi.yaml': renderOpenApi,
}

if (import.meta.main) {
  for (const [name, render] of Object.entries(documents)) {
    writeFileSync(join(DOCS, name), render())
    console.log(`wrote docs/${name}`)
  }
  for (const path of findSampled()) {
    const file = join(DOCS, '..', path)
    writeFileSync(file, fillSamples(readFileSync(file, 'utf8')))
    console.log(`filled in the samples of ${path}`)
  }
}
