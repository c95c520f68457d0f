/** RL-10 and RL-15: what many wrong codes do to honest users, and how many mails a thousand triggers send. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requestDeviceCode } from '../../../src/flows/device/request-code.ts'
import { sendDueMails } from '../../../src/flows/send-mails.ts'
import { requestRecovery } from '../../../src/flows/sign-in/links.ts'
import { findAccountSession } from '../../../src/store/sign-in/sessions.ts'
import { type MadeUser, makeApplication, makeUser } from '../../rig/make.ts'
import { type Mailbox, startMailbox } from '../../rig/network/mailbox.ts'
import { needs } from '../../rig/origins/needs.ts'
import { madeUp, missTimes, someNetwork, somewhere } from '../../rig/scenes/guesses.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser } from '../../rig/signed-in.ts'
import { figure, sized } from '../../rig/size.ts'
import { codeRow, mailsOf } from '../../rig/witness.ts'

const MINUTE = 60_000

let mailbox: Mailbox
let service: TestService
beforeAll(async () => {
  mailbox = await startMailbox()
  // A busy machine must not turn code requests away: that is another file's concern.
  service = await startTestService({ TRUST_PROXY: '127.0.0.1', OVERLOAD_DELAY: '0' }, { clock: true })
})
afterAll(async () => {
  await service.stop()
  await mailbox.stop()
})

describe('RL-10: there is no budget of an application that somebody could burn', () => {
  it('RL-10: many wrong codes, and many codes of one application entered in vain, stop nobody else from entering its codes', async () => {
    const device = service.device()
    for (let guesser = 0; guesser < 12; guesser += 1) {
      const { web } = await makeSignedInUser(service, await somewhere(service))
      await missTimes(web, 5)
      expect((await web.enterCode(madeUp())).status, 'the guesser').toBe(429)
    }
    const burning = await makeSignedInUser(service, await somewhere(service))
    for (let claim = 0; claim < 20; claim += 1) await burning.web.enterCode((await device.code()).user_code)
    expect((await burning.web.enterCode((await device.code()).user_code)).status, 'the one who burns codes').toBe(429)

    for (const where of [{ headers: someNetwork() }, await somewhere(service)]) {
      const { user, web } = await makeSignedInUser(service, where)
      const { user_code } = await device.code()
      expect((await web.enterCode(user_code)).status).toBe(200)
      expect(await codeRow(service, user_code)).toMatchObject({ claimed_by: user.id })
    }
    expect((await device.request()).status, 'and the application gets its codes').toBe(200)
  })
})

describe('RL-15: mails', () => {
  async function times(count: number, trigger: () => Promise<unknown>): Promise<void> {
    // All of them wait for one user's lock: more at once would wait for longer than PostgreSQL lets them.
    for (let done = 0; done < count; done += 10) await Promise.all(Array.from({ length: 10 }, trigger))
  }
  const kinds = async (user: MadeUser) => {
    const counted: Record<string, number> = {}
    for (const kind of await mailsOf(service, user)) counted[kind] = (counted[kind] ?? 0) + 1
    return counted
  }

  const TRIGGERS = sized(1_000, 100)

  it(`RL-15: ${figure(TRIGGERS)} requests for a new password send three mails an hour`, needs('recovery'), async () => {
    const visit = await findAccountSession(service.context.db, service.account.slug, null)
    const user = await makeUser(service.context.db, service.account.slug)
    if (!visit) throw new Error('there is no account')
    await times(TRIGGERS, () => requestRecovery(service.context, visit.account, user.email, 'en'))
    expect(await kinds(user)).toEqual({ recovery: 3 })
    await service.database.advance(61 * MINUTE)
    await times(50, () => requestRecovery(service.context, visit.account, user.email, 'en'))
    expect(await kinds(user)).toEqual({ recovery: 6 })
  })

  it(`RL-15: ${figure(TRIGGERS)} grants of one user within minutes send ten mails, then all the others in one`, async () => {
    const user = await makeUser(service.context.db, service.account.slug)
    const device = service.device()
    await times(TRIGGERS, async () => {
      const { user_code } = await device.code()
      expect(await service.grant(user_code, user)).toBe('granted')
    })
    expect(await kinds(user)).toEqual({ grant_created: 10, grants_created: 1 })
    const [mail] = await service.database.query<{ detail: { count: number; applications: string[] } }>(
      "select detail from mails where user_id = $1 and kind = 'grants_created'",
      [user.id],
    )
    expect([mail?.detail.count, mail?.detail.applications.length]).toEqual([TRIGGERS - 10, 20])
  })

  it('RL-15: every grant is told of within ten minutes; nobody hides one behind ten others', async () => {
    const own = await startTestService({ SMTP_URL: mailbox.url }, { clock: true, listen: false })
    try {
      const { context, database } = own
      const user = await makeUser(context.db, own.account.slug)
      const received = () => mailbox.mails.filter(({ to }) => to === user.email)
      const grant = async (name: string) => {
        const application = await makeApplication(context.db, own.config, own.account.slug, { name })
        await context.applications.refresh()
        const asked = { applicationId: application.id, secret: application.secret, variant: 'token_set' } as const
        const from = { scope: null, state: '', requestedFrom: null, requestedWith: null, lifetimeSeconds: null }
        const code = await requestDeviceCode(context, { ...asked, ...from })
        expect(code.outcome === 'requested' && (await own.grant(code.userCode, user))).toBe('granted')
      }
      for (let other = 1; other <= 10; other += 1) await grant(`Harmless ${other}`)
      await sendDueMails(context)
      expect(received()).toHaveLength(10)

      await grant('Sly')
      await grant('Slier')
      await sendDueMails(context)
      expect(received(), 'not at once').toHaveLength(10)
      await database.advance(10 * MINUTE)
      await sendDueMails(context)
      expect(received()).toHaveLength(11)
      const [told] = received().slice(-1)
      expect(told?.subject).toMatch(/^2 more applications can now use your account/)
      expect(told?.text).toContain('Sly and Slier')

      // The one that was sent is not added to: another one is begun.
      await grant('Sliest')
      await database.advance(10 * MINUTE)
      await sendDueMails(context)
      expect(received().at(-1)?.text).toContain('Sliest')
      await database.advance(61 * MINUTE)
      await grant('An hour later')
      await sendDueMails(context)
      expect(received().at(-1)?.subject).toMatch(/^An hour later can now use/)
      expect(received()).toHaveLength(13)
    } finally {
      await own.stop()
    }
  })
})
