/** What both programs of this folder share: they tell peers.ts on one line where they listen and what to send. */
import { once } from 'node:events'

export const CODES = 300

/** On a free port. Returns the address. */
export async function listen(server) {
  server.keepAliveTimeout = 75_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${server.address().port}`
}

/** Answer of a request that has to succeed. */
export async function ask(url, init) {
  const response = await fetch(url, { method: 'POST', ...init })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url} was answered ${response.status} ${text}`)
  return { body: JSON.parse(text), headers: response.headers }
}

/** `poll`: bodies, each of which polls a pending code. `verify`: one request about a valid token. */
export function tell(told) {
  console.log(JSON.stringify(told))
}
