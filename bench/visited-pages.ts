/** Every page of the web interface as a request: path, Host, and the cookies of the viewer's browser. */
import { randomUUID } from 'node:crypto'
import { DIALOG, SESSION } from '../server/src/http/web/cookies.ts'
import { signSession } from '../server/src/secrets/web-texts.ts'
import { insertSession } from '../server/src/store/sign-in/sessions.ts'
import { post } from '../server/test/rig/device.ts'
import { everyRoutePage, MARK, NO_PAGES, type Viewer } from '../server/test/rig/pages/every-page.ts'
import type { Northwind } from '../server/test/rig/scenes/northwind.ts'

export type Visited = {
  readonly name: string
  readonly path: string
  readonly host: string
  /** Several browsers of the same user, with different sessions. */
  readonly cookies: readonly string[]
}

const BROWSERS = 3

/** Redirect to pages that are in the list: `dialog-consent`, `enter-code` and `home`. */
const REDIRECTS: readonly string[] = ['dialog-enter', 'activate-known', 'second-factor']

export async function openPages(northwind: Northwind): Promise<readonly Visited[]> {
  const sessions = new Map<Viewer, readonly string[]>()
  for (const viewer of ['ann', 'ben', 'ida', 'olga'] as const) {
    sessions.set(viewer, await signInEverywhere(northwind, northwind[viewer].id))
  }
  const base = new URL(northwind.service.config.publicUrl).host
  const left = [...REDIRECTS, ...NO_PAGES]
  const pages = (await everyRoutePage(northwind)).filter(({ name }) => !left.includes(name))
  return pages.map(({ name, path, as }) => {
    const address = new URL(path, northwind.origin)
    const known = as === 'nobody' ? '' : `; __Host-accounts=${northwind.slug}`
    const own = sessions.get(as)?.map((session) => `${SESSION}=${session}; ${DIALOG}=${MARK}`)
    const cookies = address.host === base ? [`${DIALOG}=${MARK}${known}`] : (own ?? [`${DIALOG}=${MARK}`])
    return { name, path: address.pathname + address.search, host: address.host, cookies }
  })
}

/** Requests a page. A redirect to the sign-in would be fast, too, but is no page: throws. */
export async function visitPage(address: string, { name, path, host, cookies }: Visited) {
  const answer = await post(address, path, {
    method: 'GET',
    headers: { accept: 'text/html', host, cookie: cookies[0] ?? '' },
  })
  const { status } = answer
  const isHtml = `${answer.headers['content-type']}`.includes('text/html')
  if (!isHtml || status >= 500 || (status !== 200 && status < 400))
    throw new Error(`the page ${name} was answered ${status}`)
  return { status, length: answer.text.length }
}

async function signInEverywhere({ service }: Northwind, userId: string): Promise<readonly string[]> {
  const { context, config, database } = service
  const [user] = await database.query<{ account_id: string; slug: string }>(
    'select u.account_id, a.slug from users u join accounts a on a.id = u.account_id where u.id = $1',
    [userId],
  )
  if (!user) throw new Error('there is no such user')
  const made = Array.from({ length: BROWSERS }, async () => {
    const id = randomUUID()
    const session = {
      id,
      accountId: user.account_id,
      userId,
      lifetimeMs: 3_600_000,
      keyId: 1,
      secondFactor: true,
      address: null,
      agent: null,
    }
    await context.db.transaction((tx) => insertSession(tx, session))
    return signSession(config.keys, id, user.slug)
  })
  return Promise.all(made)
}
