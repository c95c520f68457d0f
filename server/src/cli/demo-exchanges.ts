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
      return `The user has not decided yet. The device polls again after ${headers.get('retry-after') ?? 'a few'} seconds.`
    case 'slow_down':
      return 'The poll came too early. The code stays valid; the device waits longer.'
    case 'auth_rejected':
    case 'access_denied':
      return 'The user rejected the request. Both codes are invalid now.'
    case 'auth_expired':
    case 'expired_token':
      return 'The codes expired before the user decided.'
    default:
      return typeof body.message === 'string' ? body.message : 'The request was rejected.'
  }
}

function meaningOfSuccess(path: string, { expires_in: seconds, interval, scope, account }: Body): string {
  if (/device\/code$|device_authorization$/.test(path))
    return `A user code to display and a device code to poll with, valid for ${seconds} seconds. Poll interval: ${interval} seconds.`
  if (/polling$|oauth\/token$/.test(path))
    return `The user granted access: a token set for ${scope}, valid for ${seconds} seconds. Both codes are used up.`
  if (/\/me$/.test(path)) return `The access token is valid for the account ${account} and the scope ${scope}.`
  if (/\/revoke$/.test(path)) return 'The device revokes the grant. Its tokens are no longer valid.'
  return ''
}
