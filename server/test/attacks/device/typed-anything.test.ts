/** WB-09: no input to a route of the web interface causes an internal error. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ LOG_LEVEL: 'silent' }, { operators: true })
})
afterAll(() => service.stop())

const FIELDS = [
  ...['email', 'password', 'code', 'answer', 'step', 'link', 'token', 'name', 'next', 'language', 'notice'],
  ...['ref', 'grant', 'user', 'role', 'passkey', 'setup', 'after', 'removed', 'add', 'colour', 'version'],
  ...['q', 'filter', 'application', 'account', 'review', 'seen', 'decision', 'reason', 'words', 'interval', 'scope'],
  ...['title', 'share', 'windows'],
]
const VALUES = [
  '\u0000',
  'a\u0000b@acme.example',
  '\uffff\u{1f600}',
  '-1',
  '9'.repeat(2_000),
  "' or 1=1 --",
  '{"id":{},"response":{}}',
]

it.each(pageRoutes.map((route) => [`${route.method} ${route.path}`, route] as const))(
  'WB-09: %s never answers 500, whatever its fields hold',
  async (_name, route) => {
    const user = await makeUser(service.context.db, service.account.slug)
    for (const value of VALUES) {
      const web = await signInAs(service, user)
      const bound = Object.fromEntries((route.bound ?? []).map((name) => [name, value]))
      const everything = Object.fromEntries(FIELDS.map((name) => [name, value]))
      // Each field is tried alone with what PostgreSQL cannot store: another field must not be refused first.
      const single = value === '\u0000' ? FIELDS.map((name) => ({ ...bound, [name]: value })) : []
      for (const sent of [everything, ...single]) {
        const answer =
          route.method === 'GET'
            ? await web.send('GET', `${route.path}?${new URLSearchParams(sent)}`)
            : await web.send('POST', route.path, { ...sent, ...(await signedFor(service, user, route.path, bound)) })
        expect([sent, answer.status]).not.toEqual([sent, 500])
      }
    }
  },
)
