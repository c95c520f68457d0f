/** Generator of curl commands for an operation. Values that only the reader knows become shell variables. */
import type { Method } from '../route.ts'
import type { Properties } from '../schema.ts'
import type { Operation } from './operation.ts'

export function curlFor(url: string, method: Method, operation: Operation, send: readonly string[]): string {
  if (operation.json !== undefined || !['GET', 'POST'].includes(method)) return jsonCommand(url, method, operation)
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

/** With the examples of the members that have one. */
function jsonCommand(url: string, method: Method, operation: Operation): string {
  const members = Object.entries(operation.json ?? {}).flatMap(([name, { examples }]) =>
    examples ? [[name, examples[0]]] : [],
  )
  const body = JSON.stringify(Object.fromEntries(members))
  return [
    `curl -X ${method} ${quote(url)}`,
    ...proofOf(operation),
    ...(operation.json ? ["-H 'Content-Type: application/json'", `-d ${quote(body)}`] : []),
  ].join(' \\\n  ')
}

function proofOf({ security }: Operation): string[] {
  if (security.includes('managementKey')) return ['-H "Authorization: Bearer $MANAGEMENT_KEY"']
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
