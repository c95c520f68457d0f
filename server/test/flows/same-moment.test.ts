/** Concurrent changes of one user's sign-in methods: they wait for each other, and none answers 503. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { disablePerson } from '../../src/flows/accounts/people.ts'
import { createSetupLink } from '../../src/flows/accounts/set-up.ts'
import { changePassword } from '../../src/flows/sign-in/change-password.ts'
import { startSession } from '../../src/flows/sign-in/sessions.ts'
import { type AccountSession, findAccountSession, insertSession } from '../../src/store/sign-in/sessions.ts'
import { type MadeUser, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const BROWSER = { address: null, agent: null, known: null, mark: '', language: 'de' }

let service: TestService
let user: MadeUser
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
})
afterAll(() => service.stop())
beforeEach(async () => {
  user = await makeUser(service.context.db, service.account.slug)
})

/** As a browser with the session's cookie. */
const BY_PASSWORD = { how: 'test', secondFactor: false, proof: { passwordDigest: 'digest' } } as const

async function visitOf(): Promise<AccountSession> {
  const { context, config, account } = service
  const session = { id: randomUUID(), accountId: account.id, userId: user.id, lifetimeMs: config.sessionLifetimeMs }
  await context.db.transaction((tx) =>
    insertSession(tx, { ...session, keyId: 1, secondFactor: false, address: null, agent: null }),
  )
  const visit = await findAccountSession(context.db, account.slug, { id: session.id, idleMs: 60_000 })
  if (!visit) throw new Error('there is no account')
  return visit
}

it('ten first sign-ins all succeed', async () => {
  await service.database.query("update users set password_digest = 'digest' where id = $1", [user.id])
  const who = { id: user.id, accountId: service.account.id, slug: service.account.slug }
  const results = await Promise.all(
    Array.from({ length: 10 }, () =>
      service.context.db.transaction((tx) => startSession(service.context, tx, who, BROWSER, BY_PASSWORD)),
    ),
  )
  expect(results.map((result) => result?.outcome)).toEqual(results.map(() => 'signed_in'))
})

it('password changes in several browsers run in turn, unless the one before ended the session', async () => {
  for (let round = 0; round < 5; round += 1) {
    await service.database.query('update users set password_digest = null where id = $1', [user.id])
    const visits = await Promise.all([1, 2, 3, 4].map(visitOf))
    const password = `a quiet green harbour ${round}`
    const given = { current: '', password, again: password }
    const results = await Promise.all(
      visits.map(({ account, sessionUser }) => {
        if (!sessionUser) throw new Error('nobody is there')
        return changePassword(service.context, account, sessionUser, given, BROWSER)
      }),
    )
    const others = results.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'changed')
    expect(others).toHaveLength(3)
    // A later one finds that there is a password, which it did not send.
    for (const outcome of others) expect(['expired', 'wrong']).toContain(outcome)
  }
})

it('a reset, a disabling and a sign-in do not deadlock', async () => {
  const { context, config, account } = service
  for (let round = 0; round < 5; round += 1) {
    await service.database.query("update users set disabled_at = null, password_digest = 'digest' where id = $1", [
      user.id,
    ])
    const who = { id: user.id, accountId: account.id, slug: account.slug }
    await service.database.query("update users set password_digest = 'digest' where id = $1", [service.user.id])
    const results = await Promise.all([
      createSetupLink(context.db, config, { account: account.slug, email: user.email, reset: true }),
      disablePerson(context, service.user.id, user.id),
      context.db.transaction((tx) => startSession(context, tx, who, BROWSER, BY_PASSWORD)),
    ])
    expect(results[1]).toEqual({ outcome: 'disabled' })
    const left = await service.database.query('select from sessions where user_id = $1', [user.id])
    expect(left).toEqual([])
  }
})
