/**
 * Generates documents from the sources, and fills in code samples of other documents (samples.ts) and the figures of
 * docs/performance.md. server/test/docs.test.ts checks that docs/ is up to date.
 *
 *   npm run docs    write the documents
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { fillFigures } from '../bench/figures.ts'
import { options } from '../server/src/config.ts'
import { type RefusalCode, refusals } from '../server/src/core/refusal.ts'
import { describedManagement } from '../server/src/http/manage/routes.ts'
import { describeRoutes } from '../server/src/http/openapi/document.ts'
import type { OpenApiDocument } from '../server/src/http/openapi/document-types.ts'
import { describeManagement } from '../server/src/http/openapi/management-document.ts'
import { routes } from '../server/src/http/routes.ts'
import { fillSamples, findSampled } from './samples.ts'

const DOCS = join(import.meta.dirname, '..', 'docs')

/** The five outcomes of a poll other than `accepted`, in the order of docs/interface.md, "Errors". */
const POLL_OUTCOMES: readonly RefusalCode[] = ['auth_pending', 'slow_down', 'auth_expired', 'auth_rejected', 'invalid']

function generatedFrom(source: string): string {
  return `<!-- Generated from ${source} by \`npm run docs\`. Do not edit: change that file and run the command again. -->`
}

export function renderErrors(): string {
  const others = (Object.keys(refusals) as RefusalCode[]).filter((code) => !POLL_OUTCOMES.includes(code))
  return `${generatedFrom('server/src/core/refusal.ts')}

# Errors

An error response is an object with two fields, in JSON or, if the path ends in \`.xml\`, in XML:

\`\`\`json
${JSON.stringify({ error: 'auth_pending', message: refusals.auth_pending.message }, null, 2)}
\`\`\`

Programs should evaluate \`error\`: the codes on this page are part of the interface and do not change. \`message\` is intended for
developers, not for end users. Do not compare it: its wording may change, and it may contain more detail than this page.

The standard dialect (\`/oauth/…\`) returns \`error\` and \`error_description\`, with the error codes of the RFCs. Where the code differs, it
is listed below. The standard dialect uses status 400 instead of 403. The [management API](management.md#errors) adds \`remedy\`, the text after
“What to do” below.

## Outcomes of a poll

A poll has six outcomes. \`accepted\` has HTTP status 200 and returns the token set or the access key. The other five are errors.

${POLL_OUTCOMES.map(renderRefusal).join('\n')}
## Other errors

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

Latchkey reads its configuration from environment variables at startup. If settings are missing or invalid, it lists all of them and
exits with status 2. An empty variable counts as unset.

A variable that holds a secret can also be read from a file: set the variable with the suffix \`_FILE\` to the path of the file, and leave
the variable itself unset. Leading and trailing white space of the file is removed.

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

/** The document that the server returns at /openapi.json, with the default PUBLIC_URL. */
export function renderOpenApi(): string {
  return inYaml(describeRoutes(routes, options.publicUrl.fallback ?? ''))
}

function inYaml(document: OpenApiDocument): string {
  const comment =
    '# Generated from server/src/http/ by `npm run docs`. Do not edit: change that folder and run the command again.'
  return `${comment}\n\n${stringify(document, { lineWidth: 0, blockQuote: 'literal', aliasDuplicateObjects: false })}`
}

/** The document that the server returns at /manage/1/openapi.json. */
export function renderManagementOpenApi(): string {
  return inYaml(describeManagement(describedManagement, options.publicUrl.fallback ?? ''))
}

/** Generated documents by their name in docs/. */
export const documents: Readonly<Record<string, () => string>> = {
  'errors.md': renderErrors,
  'configuration.md': renderConfiguration,
  'openapi.yaml': renderOpenApi,
  'openapi-management.yaml': renderManagementOpenApi,
}

if (import.meta.main) {
  for (const [name, render] of Object.entries(documents)) {
    writeFileSync(join(DOCS, name), render())
    console.log(`wrote docs/${name}`)
  }
  const performance = join(DOCS, 'performance.md')
  writeFileSync(performance, fillFigures(readFileSync(performance, 'utf8')))
  console.log('updated the figures of docs/performance.md')
  for (const path of findSampled()) {
    const file = join(DOCS, '..', path)
    writeFileSync(file, fillSamples(readFileSync(file, 'utf8')))
    console.log(`updated the samples of ${path}`)
  }
}
