/** Accounts with signed-in users, who allow access on the pages of their account, through HAProxy. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { groupDigits } from '../../../src/core/device/user-code.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { bucketOfSlug } from '../../../src/secrets/bucket.ts'
import { signSession } from '../../../src/secrets/web-texts.ts'
import { openPostgres } from '../../../src/store/postgres/postgres.ts'
import { insertSession } from '../../../src/store/sign-in/sessions.ts'
import { makeAccount, makeConfig, makeUser } from '../../rig/make.ts'
import { formFields, type Page, Web } from '../../rig/web.ts'
import { type Cell, type Harness, HOST } from './harness.ts'
import type { WaitingCode } from './waiting-codes.ts'

export type Members = {
  readonly account: { readonly id: string; readonly slug: string; readonly bucket: number }
  /** One of its users: a code can be entered by any of them. */
  readonly userId: string
  /** In turn. A user enters at most twenty codes in ten minutes. */
  next(): Web
}

/** A slug whose bucket is one of these. */
export function slugIn(buckets: ReadonlySet<number>, prefix = 'member'): string {
  for (let count = 1; ; count += 1) {
    const slug = `${prefix}-${count}`
    if (buckets.has(bucketOfSlug(slug))) return slug
  }
}

/** In order. */
export async function bucketsOf({ pool, id }: Cell): Promise<number[]> {
  const { rows } = await pool.query<{ bucket: number }>('select bucket from bucket_map where cell = $1 order by 1', [
    id,
  ])
  return rows.map(({ bucket }) => bucket)
}

export async function makeMembers({ address }: Harness, cell: Cell, slug: string, users: number): Promise<Members> {
  const { keys, sessionLifetimeMs: lifetimeMs } = makeConfig(cell.environment)
  const db = openPostgres(cell.postgres.url, 4)
  try {
    const { id: accountId } = await makeAccount(db, { slug })
    const { rows } = await db.query<{ bucket: number }>('select bucket from accounts where id = $1', [accountId])
    const browsers: Web[] = []
    let userId = ''
    for (let made = 0; made < users; made += 1) {
      userId = (await makeUser(db, slug)).id
      const session = { id: randomUUID(), accountId, userId, lifetimeMs, keyId: keys.signing.id }
      await db.transaction((tx) => insertSession(tx, { ...session, secondFactor: true, address: null, agent: null }))
      const web = new Web(address, `${slug}.${HOST}`)
      web.cookies.set(SESSION, signSession(keys, session.id, slug))
      browsers.push(web)
    }
    return {
      account: { id: accountId, slug, bucket: rows[0]?.bucket ?? -1 },
      userId,
      next: () => {
        const web = browsers.shift()
        if (!web) throw new Error(`${slug} has no users`)
        browsers.push(web)
        return web
      },
    }
  } finally {
    await db.close()
  }
}

/** A user who is told to try again does so this soon: much sooner, and the answers would take the processor from the move. */
const RETRY_MS = 100

/** Longer than any freeze: what is refused for so long is lost. */
const TIMEOUT_MS = 30_000

/** Enters the code and allows access. Returns how often the user was told to try again. */
export async function allow(web: Web, { userCode }: WaitingCode): Promise<number> {
  let refusals = 0
  const begun = performance.now()
  const served = async (send: () => Promise<Page>): Promise<Page> => {
    for (;;) {
      const page = await send()
      const later = page.status === 503 && page.headers['retry-after'] !== undefined
      if (!later || performance.now() - begun > TIMEOUT_MS) return page
      refusals += 1
      await sleep(RETRY_MS)
    }
  }
  const demand = (what: string, right: boolean, page: Page) => {
    if (!right) throw new Error(`${what} was answered ${page.status} ${titleOf(page)}`)
  }
  const asked = await served(() => web.send('GET', '/connect/code'))
  demand('the page for codes', asked.status === 200, asked)
  const entry = { ...formFields(asked.text, '/connect/code'), code: userCode }
  const entered = await served(() => web.send('POST', '/connect/code', entry))
  const { location } = entered
  demand('a code', location?.startsWith('/connect/decision') ?? false, entered)
  const shown = await served(() => web.send('GET', location ?? ''))
  demand('the question', shown.text.includes('action="/connect/decision"'), shown)
  // Asked for where many users were asked from one network within minutes, as happens here.
  const retyped = shown.text.includes('name="last_group"')
    ? { last_group: groupDigits(userCode).split(' ').at(-1) ?? '' }
    : {}
  const form = { ...formFields(shown.text, '/connect/decision'), decision: 'allow', ...retyped }
  const decided = await served(() => web.send('POST', '/connect/decision', form))
  demand('the decision', decided.status === 303, decided)
  return refusals
}

function titleOf({ text }: Page): string {
  return /<title>(.*?)<\/title>/s.exec(text)?.[1] ?? text.slice(0, 100)
}
