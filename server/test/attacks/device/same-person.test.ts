/**
 * UC-24: a code that is entered in a second account goes there only if both users are proven to be the same person; otherwise
 * it is closed. docs/decisions/0009-a-second-account-closes-a-code.md
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { saveHostProfile } from '../../../src/store/accounts/users.ts'
import type { CodeRecord } from '../../rig/device.ts'
import { makeHost, signInAtHost, type TestHost } from '../../rig/host-service.ts'
import {
  ADA,
  connectProvider,
  PROVIDER_ENVIRONMENT,
  signInAtProvider,
  startProvider,
  type TestProvider,
} from '../../rig/identity-provider.ts'
import { CHOSEN_PASSWORD, followLink, linkFor, makeInvitedUser } from '../../rig/mailed-link.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { makeManagementKey, manageClient } from '../../rig/manage.ts'
import { needs } from '../../rig/origins/needs.ts'
import { someDevice } from '../../rig/scenes/asked.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { type SignedInUser, signInAs } from '../../rig/signed-in.ts'
import { formFields, textOf, type Web } from '../../rig/web.ts'
import { codeRow, grantsOf } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const CLOSED = t('enter_code.problem_closed')

type Account = { readonly id: string; readonly slug: string }

/** What the page says after entering a code in the second account. */
async function enterIn(web: Web, { user_code }: CodeRecord): Promise<'consent' | 'closed' | string> {
  const { text, status } = await web.enterCode(user_code)
  if (text.includes('action="/connect/decision"')) return 'consent'
  return textOf(text).includes(CLOSED) && status === 400 ? 'closed' : textOf(text)
}

async function audit(service: TestService, userCode: string) {
  const row = await codeRow(service, userCode)
  return service.database.query<{ kind: string; account_id: string; user_id: string; detail: object }>(
    'select kind, account_id, user_id, detail from audit_events where device_code_id = $1 order by id',
    [row?.id],
  )
}

describe('a person with users in two accounts of Latchkey’s own', needs('password'), () => {
  let service: TestService
  let here: Account
  let there: Account
  beforeAll(async () => {
    service = await startTestService({ LOG_LEVEL: 'silent' })
    here = service.account
    there = await makeAccount(service.context.db)
  })
  afterAll(() => service.stop())

  let count = 0
  const somebody = () => {
    count += 1
    return `person${count}@mail.example`
  }

  /** With the same confirmed address in both. */
  async function makePerson(email = somebody()): Promise<{ first: SignedInUser; second: SignedInUser; email: string }> {
    return {
      first: await makeInvitedUser(service, here, email),
      second: await makeInvitedUser(service, there, email),
      email,
    }
  }

  async function claimedBy(
    web: Web,
  ): Promise<{ code: CodeRecord; poll: () => Promise<string | undefined>; path: string }> {
    const device = await someDevice(service)
    const code = await device.code()
    await web.get('/connect/code')
    const fields = { ...formFields(web.last?.text ?? '', '/connect/code'), code: code.user_code }
    const path = (await web.send('POST', '/connect/code', fields)).location ?? ''
    return { code, path, poll: async () => (await device.poll(code.device_code)).body.error }
  }

  const changeAddress = ({ id }: MadeUser, email: string) =>
    service.context.db.transaction((tx) => saveHostProfile(tx, id, { email, name: null, permissions: [] }))

  it('UC-24: continues in the second, and the page of the first can no longer grant or reject and says why', async () => {
    const { first, second } = await makePerson()
    const { code, path, poll } = await claimedBy(first.web)
    const left = await first.web.get(path)
    expect(await enterIn(second.web, code)).toBe('consent')
    const question = formFields(second.web.last?.text ?? '', '/connect/decision')

    for (const decision of ['allow', 'cancel', 'not_me']) {
      const fields = { ...formFields(left.text, '/connect/decision'), decision }
      const { location } = await first.web.send('POST', '/connect/decision', fields)
      expect(textOf((await first.web.get(location ?? '')).text), decision).toContain(t('decided.moved'))
    }
    expect(await poll()).toBe('auth_pending')
    await second.web.send('POST', '/connect/decision', { ...question, decision: 'allow' })
    expect(await poll()).toBeUndefined()
    expect(
      [await grantsOf(service, first.user), await grantsOf(service, second.user)].map((all) => all.length),
    ).toEqual([0, 1])
    expect(textOf((await first.web.get(path)).text), 'also after the decision').toContain(t('decided.moved'))
  })

  it('UC-24: can go back, and then the page of the second account is the one that was left', async () => {
    const { first, second } = await makePerson()
    const { code } = await claimedBy(first.web)
    expect(await enterIn(second.web, code)).toBe('consent')
    expect(await enterIn(first.web, code)).toBe('consent')
    expect(await codeRow(service, code.user_code)).toMatchObject({ claimed_by: first.user.id, entry_closed: false })
  })

  it('UC-24: is in neither audit log with the other account or user', async () => {
    const { first, second } = await makePerson()
    const { code } = await claimedBy(first.web)
    await enterIn(second.web, code)
    const [claimed, moved, away] = await audit(service, code.user_code)
    const ours = { account_id: here.id, user_id: first.user.id, detail: {} }
    expect([claimed, away]).toEqual([
      { kind: 'code.claimed', ...ours },
      { kind: 'code.moved_away', ...ours },
    ])
    expect(moved).toEqual({ kind: 'code.claimed', account_id: there.id, user_id: second.user.id, detail: {} })
  })

  type Scene = { first: SignedInUser; second: SignedInUser; code: CodeRecord; email: string }
  const signInAgain = async ({ user, web }: SignedInUser) => {
    web.cookies.clear()
    await web.signIn(user.email, CHOSEN_PASSWORD)
  }

  /** After the code was claimed in the first account, and before it is entered in the second. */
  const doubts: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
    'the address in the first account was changed': ({ first }) => changeAddress(first.user, somebody()),
    'the address in the first account was changed and changed back': async ({ first, email }) => {
      await changeAddress(first.user, somebody())
      await changeAddress(first.user, email)
    },
    'the address in the second account was changed and changed back': async ({ second, email }) => {
      await changeAddress(second.user, somebody())
      await changeAddress(second.user, email)
      await signInAgain(second)
    },
    'the second session is older than the confirmation of the address': async ({ second, email }) => {
      await changeAddress(second.user, somebody())
      await signInAgain({ ...second, user: { ...second.user, email: await emailOf(second.user) } })
      await changeAddress(second.user, email)
      const link = await linkFor(service, there, second.user, 'sign_in')
      await followLink(service.web({}, there.slug), link, 'sign_in')
    },
    'the first user is disabled': ({ first }) =>
      service.database.query('update users set disabled_at = now() where id = $1', [first.user.id]),
    'the second session was not started by a password or a passkey': async ({ second }) => {
      const { cookies } = await signInAs(service, second.user, { account: there })
      for (const [name, value] of cookies) second.web.cookies.set(name, value)
    },
    'the code was entered once more by the command line for the first user': ({ first, code }) =>
      enterUserCode(service.context, first.user.id, code.user_code),
  }

  async function emailOf({ id }: MadeUser): Promise<string> {
    const [row] = await service.database.query<{ email: string }>('select email from users where id = $1', [id])
    return row?.email ?? ''
  }

  it.each(Object.keys(doubts))('UC-24: closes the code if %s', async (doubt) => {
    const { first, second, email } = await makePerson()
    const { code, poll } = await claimedBy(first.web)
    await doubts[doubt]?.({ first, second, code, email })
    expect(await enterIn(second.web, code)).toBe('closed')
    expect(await poll()).toBe('auth_expired')
  })

  it('UC-24: closes the code if the command line enters it for the second user', async () => {
    const { first, second } = await makePerson()
    const { code } = await claimedBy(first.web)
    expect((await enterUserCode(service.context, second.user.id, code.user_code)).outcome).toBe('closed')
  })

  it.each(['first', 'second'] as const)(
    'UC-24: closes the code if the address in the %s account was never confirmed',
    async (which) => {
      const email = somebody()
      const known = await makeInvitedUser(service, which === 'first' ? there : here, email)
      const where = which === 'first' ? here : there
      const user = await makeUser(service.context.db, where.slug, { email, password: CHOSEN_PASSWORD })
      const web = service.web({}, where.slug)
      await web.signIn(email, CHOSEN_PASSWORD)
      const [first, second] = which === 'first' ? [{ user, web }, known] : [known, { user, web }]
      const { code } = await claimedBy(first.web)
      expect(await enterIn(second.web, code)).toBe('closed')
    },
  )

  it('UC-24: closes the code for a link that was printed, not mailed', async () => {
    const email = somebody()
    const first = await makeInvitedUser(service, here, email)
    const user = await makeUser(service.context.db, there.slug, { email })
    const web = service.web({}, there.slug)
    await followLink(web, await linkFor(service, there, user, 'setup'), 'setup')
    expect(await enterIn(web, (await claimedBy(first.web)).code)).toBe('closed')
  })

  it('UC-24: closes the code for another address, and for one that a hostile account gave its user', async () => {
    const { first, email } = await makePerson()
    const mallory = await makeInvitedUser(service, await makeAccount(service.context.db))
    const one = await claimedBy(first.web)
    expect(await enterIn(mallory.web, one.code)).toBe('closed')
    const [account] = await service.database.query<Account>(
      'select a.id, a.slug from accounts a join users u on u.account_id = a.id where u.id = $1',
      [mallory.user.id],
    )
    if (!account) throw new Error('there is no such account')
    await service.database.query('update users set email = $2 where id = $1', [mallory.user.id, email])
    await signInAgain({ ...mallory, user: { ...mallory.user, email } })
    const other = await claimedBy(first.web)
    expect(await enterIn(mallory.web, other.code)).toBe('closed')
  })
})

describe('a person whom an identity provider knows in two accounts', needs('own_origin'), () => {
  let service: TestService
  let provider: TestProvider
  let accounts: readonly [Account, Account]
  const stop: (() => Promise<void>)[] = []
  beforeAll(async () => {
    service = await startTestService({ ...PROVIDER_ENVIRONMENT, LOG_LEVEL: 'silent' })
    provider = await startProvider()
    accounts = [await makeAccount(service.context.db), await makeAccount(service.context.db)]
    for (const account of accounts) await connectProvider(service, provider, {}, account)
  })
  afterEach(async () => {
    for (const end of stop.splice(0)) await end()
  })
  afterAll(async () => {
    await provider.stop()
    await service.stop()
  })

  async function signedIn(account: Account, claims: Record<string, unknown> = {}, by = provider): Promise<Web> {
    const web = service.web({}, account.slug)
    expect((await signInAtProvider(by, web, claims)).status).toBe(303)
    return web
  }

  const claim = async (web: Web) => {
    const code = await service.device().code()
    expect(await enterIn(web, code)).toBe('consent')
    return code
  }

  it('UC-24: continues in the second account, whatever the addresses are', async () => {
    const code = await claim(await signedIn(accounts[0]))
    expect(await enterIn(await signedIn(accounts[1], { email: 'ada.other@corp.example' }), code)).toBe('consent')
  })

  it('UC-24: closes the code for another subject with the same verified address', async () => {
    const code = await claim(await signedIn(accounts[0], { sub: 'grace-1', email: 'grace@corp.example' }))
    const web = await signedIn(accounts[1], { sub: 'grace-2', email: 'grace@corp.example' })
    expect(await enterIn(web, code)).toBe('closed')
  })

  it('UC-24: closes the code for the same subject of another issuer, which an account chose', async () => {
    const hostile = await startProvider()
    stop.push(hostile.stop)
    const account = await makeAccount(service.context.db)
    await connectProvider(service, hostile, {}, account)
    const code = await claim(await signedIn(accounts[0]))
    expect(await enterIn(await signedIn(account, { sub: ADA.sub }, hostile), code)).toBe('closed')
  })

  it('UC-24: closes the code for a user of Latchkey’s own with the same confirmed address', async () => {
    const own = await makeInvitedUser(service, service.account, ADA.email)
    const code = await claim(await signedIn(accounts[0]))
    expect(await enterIn(own.web, code)).toBe('closed')
  })

  it('UC-24: closes the code if the claimant was given another subject since', async () => {
    const person = { sub: 'linus-1', email: 'linus@corp.example' }
    const code = await claim(await signedIn(accounts[0], person))
    const web = await signedIn(accounts[1], { ...person, sub: 'linus-2' })
    await service.database.query("update users set subject = 'linus-2' where subject = 'linus-1'")
    expect(await enterIn(web, code)).toBe('closed')
  })
})

describe('a person whom the host service knows in two accounts', needs('own_origin'), () => {
  let host: TestHost
  beforeAll(async () => {
    host = await makeHost()
  })
  afterAll(() => host.remove())

  async function withHost(
    subjects: 'shared' | 'per-account' | null,
    check: (service: TestService, accounts: readonly [Account, Account]) => Promise<void>,
  ) {
    const settings = subjects === null ? {} : { SIGN_IN_SUBJECTS: subjects }
    const service = await startTestService({
      ...host.environment,
      ...settings,
      SIGN_IN_CREATES: 'users',
      LOG_LEVEL: 'silent',
    })
    try {
      await check(service, [await makeAccount(service.context.db), await makeAccount(service.context.db)])
    } finally {
      await service.stop()
    }
  }

  async function signedIn(service: TestService, { slug }: Account, claims: Record<string, string>): Promise<Web> {
    const web = service.web({}, slug)
    expect((await signInAtHost(service, host, web, { claims })).status).toBe(303)
    return web
  }

  const claim = async (service: TestService, web: Web) => {
    const code = await service.device().code()
    expect(await enterIn(web, code)).toBe('consent')
    return code
  }

  const ann = { sub: 'person-1', email: 'ann@host.example' }
  const mallory = { sub: 'person-2', email: 'mallory@host.example' }

  it('UC-24: continues in the second account if the operator says that its ids are people', () =>
    withHost('shared', async (service, [first, second]) => {
      const code = await claim(service, await signedIn(service, first, ann))
      expect(await enterIn(await signedIn(service, second, { ...ann, email: 'ann@other.example' }), code)).toBe(
        'consent',
      )
      const other = await claim(service, await signedIn(service, first, ann))
      expect(await enterIn(await signedIn(service, second, mallory), other)).toBe('closed')
    }))

  it.each([null, 'per-account'] as const)('UC-24: closes the code if SIGN_IN_SUBJECTS is %s', (subjects) =>
    withHost(subjects, async (service, [first, second]) => {
      const code = await claim(service, await signedIn(service, first, ann))
      expect(await enterIn(await signedIn(service, second, ann), code)).toBe('closed')
    }),
  )

  it('UC-24: closes the code for a hostile account that gives its users external ids by SCIM, before or after they sign in', () =>
    withHost('shared', async (service, [victims, hostile]) => {
      const { key } = await makeManagementKey(service, { account: hostile.slug })
      const call = manageClient(service.address, key)
      const headers = { 'content-type': 'application/scim+json; charset=utf-8' }
      const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User']
      const given = { schemas, userName: mallory.email, externalId: mallory.sub, active: true }
      const user = (await call('POST', '/scim/2/Users', given, headers)).body
      const session = await signedIn(service, hostile, mallory)
      const stolen = { ...given, externalId: ann.sub }
      expect((await call('PUT', `/scim/2/Users/${user.id}`, stolen, headers)).status).toBe(200)
      const victim = await signedIn(service, victims, ann)
      expect(await enterIn(session, await claim(service, victim))).toBe('closed')
      // From now on, Mallory's statements are about another user: a new one.
      expect(
        await enterIn(
          await signedIn(service, hostile, { ...mallory, email: 'm@host.example' }),
          await claim(service, victim),
        ),
      ).toBe('closed')
      // The other way round: the victim's code does not come to the hostile account's claim, either.
      const code = await claim(service, session)
      expect(await enterIn(victim, code)).toBe('closed')
    }))
})
