/** Links that set a password: one use invalidates all, and a user who had a password before is notified. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSetupLink, setUpAccount } from '../../../src/flows/accounts/set-up.ts'
import type { Context } from '../../../src/flows/context.ts'
import { linkAddress, mailLink, setPasswordByLink } from '../../../src/flows/sign-in/links.ts'
import { createLink } from '../../../src/flows/sign-in/mailed-link.ts'
import { findAccountSession, type HostAccount } from '../../../src/store/sign-in/sessions.ts'
import { type MadeUser, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const PASSWORD = 'a quiet green harbour'
const BROWSER = { address: null, agent: null, known: null, mark: '', language: 'en' }

let service: TestService
let account: HostAccount
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  const visit = await findAccountSession(service.context.db, service.account.slug, null)
  if (!visit) throw new Error('there is no account')
  account = visit.account
})
afterAll(() => service.stop())

const someUser = () => makeUser(service.context.db, account.slug)
const use = (link: string, context: Context = service.context) =>
  setPasswordByLink(context, account, { link, password: PASSWORD, again: PASSWORD }, BROWSER)
const tokenIn = (address: string) => new URL(address).searchParams.get('token') ?? ''
const mailsOf = async (user: MadeUser) =>
  (
    await service.database.query<{ kind: string; language: string }>(
      'select kind, language from mails where user_id = $1 order by id',
      [user.id],
    )
  ).map(({ kind, language }) => `${kind} ${language}`)

/** Hashing would run one after the other: these continue when the last one is ready. */
function abreast(many: number): Context {
  const { passwords } = service.context
  const { promise: all, resolve: go } = Promise.withResolvers<void>()
  let ready = 0
  const known: Context['passwords']['known'] = (source) => ({
    ...passwords.known(source),
    digest: async (password) => {
      const digested = await passwords.known(source).digest(password)
      ready += 1
      if (ready === many) go()
      await all
      return digested
    },
  })
  return { ...service.context, passwords: { ...passwords, known } }
}

/** Mailed, as by "Forgot your password?". */
async function recoveryLink(user: MadeUser): Promise<string> {
  await service.context.db.transaction((tx) =>
    mailLink(tx, { id: user.id, accountId: account.id }, 'de', { kind: 'recovery', detail: {} }),
  )
  const [mail] = await service.database.query<{ link_id: string }>(
    'select link_id from mails where user_id = $1 order by id desc limit 1',
    [user.id],
  )
  return tokenIn(linkAddress(service.context, account.slug, mail?.link_id ?? ''))
}

/** Printed by the command line. */
async function setupLink(user: MadeUser, reset = false): Promise<string> {
  const made = await createSetupLink(service.context.db, service.config, { account: account.slug, ...user, reset })
  if (made.outcome === 'refused') throw new Error(made.reason)
  return tokenIn(made.value.address)
}

describe('a link that sets a password', () => {
  it('works once for several at the same moment, without a 503', async () => {
    for (let round = 0; round < 5; round += 1) {
      const user = await someUser()
      const links = [await setupLink(user), await recoveryLink(user), await recoveryLink(user), await setupLink(user)]
      const context = abreast(links.length)
      const results = await Promise.all(links.map((link) => use(link, context)))
      expect(results.map(({ outcome }) => outcome).sort()).toEqual(['gone', 'gone', 'gone', 'signed_in'])
    }
  })

  it('notifies a recovering user of the new password, in their language', async () => {
    const user = await someUser()
    await service.database.query("update users set language = 'es' where id = $1", [user.id])
    expect((await use(await recoveryLink(user))).outcome).toBe('signed_in')
    expect(await mailsOf(user)).toEqual(['recovery de', 'password_changed es'])
  })

  it('does not notify a user who sets the first password', async () => {
    const user = await someUser()
    expect((await use(await setupLink(user))).outcome).toBe('signed_in')
    expect(await mailsOf(user)).toEqual([])
  })
})

describe('how long a link works', () => {
  it.each([
    ['recovery', 10],
    ['reset', 60],
    ['invitation', 7 * 24 * 60],
    ['setup', 7 * 24 * 60],
  ] as const)('%s: %d minutes', async (purpose, minutes) => {
    const user = await someUser()
    const about = { id: user.id, accountId: account.id }
    const id = await service.context.db.transaction((tx) => createLink(tx, purpose, about))
    const rows = await service.database.query(
      'select extract(epoch from expires_at - created_at)::int / 60 as minutes from links where id = $1',
      [id],
    )
    expect(rows).toEqual([{ minutes }])
  })
})

describe('an operator’s link', () => {
  it('keeps older links valid, unless it resets the user', async () => {
    const user = await someUser()
    const [first, second] = [await recoveryLink(user), await setupLink(user)]
    expect((await use(first)).outcome).toBe('signed_in')
    expect((await use(second)).outcome).toBe('gone')

    const [before, after] = [await recoveryLink(user), await setupLink(user, true)]
    expect((await use(before)).outcome).toBe('gone')
    expect((await use(after)).outcome).toBe('signed_in')
  })
})

describe('setting an account up', () => {
  const accounts = (slug: string) => service.database.query('select id from accounts where slug = $1', [slug])
  const setUp = (administrator: string) =>
    setUpAccount(service.context.db, service.config, { slug: 'newcomer', name: 'Newcomer', administrator })

  it('creates nothing for an invalid address, and everything otherwise', async () => {
    expect(await setUp('nobody')).toEqual({ outcome: 'refused', reason: '"nobody" is not an e-mail address.' })
    expect(await accounts('newcomer')).toEqual([])
    expect(await setUp('ann@newcomer.example')).toMatchObject({ outcome: 'done' })
    expect(await accounts('newcomer')).toHaveLength(1)
  })
})
