/**
 * Explained exchanges of the demo: one line per HTTP request with its path, its outcome and what that means. Never
 * prints secrets.
 */

type Say = (words: string) => void

export type Exchanges = { readonly fetch: typeof globalThis.fetch; count(): number }

/** Wraps `fetch` and prints a line for every exchange. */
export function explainExchanges(say: Say): Exchanges {
  let count = 0
  return {
    count: () => count,
    fetch: async (input, init) => {
      const response = await globalThis.fetch(input, init)
      const body = await readBody(response.clone())
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      const outcome = typeof body.error === 'string' ? `${response.status} ${body.error}` : String(response.status)
      const asked = `${init?.method ?? 'GET'} ${pathname} -> ${outcome}`
      say(`${asked.padEnd(52)}  ${meaningOf(pathname, response, body)}`)
      count += 1
      return response
    },
  }
}

type Body = Readonly<Record<string, unknown>>

async function readBody(response: Response): Promise<Body> {
  const body: unknown = await response.json().catch(() => null)
  return { ...(body as Body | null) }
}

function meaningOf(path: string, { status, headers }: Response, body: Body): string {
  if (status === 200) return meaningOfSuccess(path, body)
  switch (body.error) {
    case 'auth_pending':
    case 'authorization_pending':
      return `Nobody has decided yet. The device asks again in ${headers.get('retry-after') ?? 'a few'} seconds or a little more.`
    case 'slow_down':
      return 'Asked too early. Nothing is lost; the device slows down.'
    case 'auth_rejected':
    case 'access_denied':
      return 'The user said no. Both codes have ended.'
    case 'auth_expired':
    case 'expired_token':
      return 'Nobody decided in time. Both codes have ended.'
    default:
      return typeof body.message === 'string' ? body.message : 'Refused.'
  }
}

function meaningOfSuccess(path: string, { expires_in: seconds, interval, scope, account }: Body): string {
  if (/device\/code$|device_authorization$/.test(path))
    return `A code to show and one to poll with, good for ${seconds} seconds; poll every ${interval} seconds, not faster.`
  if (/polling$|oauth\/token$/.test(path))
    return `The user said yes: a token set for ${scope}, good for ${seconds} seconds. The codes have ended.`
  if (/\/me$/.test(path)) return `What the credential is at this moment: the account ${account}, ${scope}.`
  if (/\/revoke$/.test(path)) return 'The device gives the access back. From now on its credentials open nothing.'
  return ''
}
