/** Generator of curl commands for an operation. Values that only the reader knows become shell variables. */
import type { Properties } from '../schema.ts'
import type { Operation } from './operation.ts'

export function curlFor(url: string, method: 'GET' | 'POST', operation: Operation, send: readonly string[]): string {
  const fields: Properties = { ...operation.query, ...operation.form }
  // Show status and headers (`-i`) if the response has no body.
  const bare = Object.values(operation.answers).some(({ body, page }) => !body && !page)
  const options = [...(bare ? ['-i'] : []), ...(method === 'GET' && send.length > 0 ? ['-G'] : [])]
  const lines = [
    ['curl', ...options, quote(url)].join(' '),
    ...proofOf(operation),
    ...send.map((name) => argument(name, fields)),
  ]
  // curl sends a GET if there is no form.
  if (method === 'POST' && send.length === 0) lines.push('-X POST')
  return lines.join(' \\\n  ')
}

function proofOf({ security }: Operation): string[] {
  if (security.includes('credential')) return ['-H "Authorization: Bearer $CREDENTIAL"']
  return security.includes('applicationBasic') ? ['-u "$APP_ID:$APP_SECRET"'] : []
}

function argument(name: string, fields: Properties): string {
  if (name.includes('=')) return `-d ${quote(name)}`
  const known = fields[name]?.const ?? fields[name]?.examples?.[0]
  if (known === undefined) return `-d ${name}="$${VARIABLES[name] ?? name.toUpperCase()}"`
  const pair = `${name}=${known}`
  return /[^\w.:=-]/.test(pair) ? `--data-urlencode ${quote(pair)}` : `-d ${pair}`
}

const VARIABLES: Readonly<Record<string, string>> = {
  SVCappid: 'APP_ID',
  SVCsecret: 'APP_SECRET',
  client_id: 'APP_ID',
}

function quote(text: string): string {
  return /^[\w.:/=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
