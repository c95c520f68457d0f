/** How long the pages of the operators' console take, one request after the other. */
import type { Config } from '../../src/config.ts'
import type { Context } from '../../src/flows/context.ts'
import { SESSION } from '../../src/http/web/cookies.ts'
import { signSession } from '../../src/secrets/web-texts.ts'
import { makeAccount, makeUser } from '../rig/make.ts'
import { startSession } from '../rig/signed-in.ts'
import { Web } from '../rig/web.ts'

const VISITS = 100

/** Of pages about one resource: a slug, and ids. */
export type Shown = { readonly account: string; readonly user: string; readonly application: string }

const pathsFor = ({ account, user, application }: Shown) => [
  ...['', '/reviews', '/applications', '/accounts', '/scopes', '/operators', '/reviews?kind=vetting', '/audit'],
  `/application?application=${application}`,
  `/account?account=${account}`,
  `/grants?application=${application}`,
  `/person?user=${user}`,
  ...['/search?q=acme-17', '/search?q=user-17', `/search?q=${user}`],
  ...['/accounts?sort=-created', '/accounts?q=acme-9', '/applications?q=printer', '/audit?kind=people'],
]

export type PageTime = { readonly path: string; readonly p50: number; readonly p99: number }

/** Of the account `operators`, which is created; in milliseconds. */
export async function measureOperatorPages(
  { context, config, address }: { readonly context: Context; readonly config: Config; readonly address: string },
  shown: Shown,
): Promise<readonly PageTime[]> {
  const account = await makeAccount(context.db, { slug: 'operators' })
  const user = await makeUser(context.db, account.slug)
  const web = new Web(address, `operators.${new URL(config.publicUrl).host}`)
  web.cookies.set(
    SESSION,
    signSession(config.keys, await startSession({ context, config, account }, user), account.slug),
  )
  const times: PageTime[] = []
  for (const path of pathsFor(shown).map((each) => `/operator${each}`)) {
    const took: number[] = []
    for (let visit = 0; visit < VISITS; visit += 1) {
      const begun = performance.now()
      const { status } = await web.send('GET', path)
      took.push(performance.now() - begun)
      if (status !== 200) throw new Error(`${path} was answered ${status}`)
    }
    took.sort((a, b) => a - b)
    const at = (share: number) => took[Math.floor(VISITS * share)] ?? 0
    times.push({ path, p50: at(0.5), p99: at(0.99) })
  }
  return times
}
