/**
 * Somebody who connects many devices at once, and the limits of what one user enters and grants.
 * docs/interface/device-flow.md, "Guessing".
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { type MadeUser, makeUser } from '../../rig/make.ts'
import { madeUp } from '../../rig/scenes/guesses.ts'
import { PASSWORD } from '../../rig/scenes/northwind.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs, startSession } from '../../rig/signed-in.ts'
import { formFields, textOf, type Web } from '../../rig/web.ts'
import { grantsOf } from '../../rig/witness.ts'

const MINUTE = 60_000
const { t } = wordsFor('en')

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterAll(() => service.stop())

type Installer = { readonly user: MadeUser; web: Web }

async function makeInstaller(at = service): Promise<Installer> {
  const user = await makeUser(at.context.db, at.account.slug, { holds: ['orders:read'], password: PASSWORD })
  return { user, web: await signInAs(at, user) }
}

type Outcome = 'connected' | 'asked to sign in' | 'told to wait' | 'not recognised' | 'cancelled'

/** Types a new code and decides, on the real pages. */
async function connect({ web }: Installer, decision: 'allow' | 'cancel' = 'allow', at = service): Promise<Outcome> {
  return answer(web, await at.device().code(), decision)
}

async function answer(web: Web, { user_code }: { user_code: string }, decision: string): Promise<Outcome> {
  const entered = await web.enterCode(user_code)
  if (entered.status === 429) return 'told to wait'
  if (entered.status === 400) return 'not recognised'
  if (textOf(entered.text).includes(t('confirm.title'))) return 'asked to sign in'
  const { text } = await web.submit('/connect/decision', { decision })
  const outcomes = { [t('decided.granted')]: 'connected', [t('decided.rejected')]: 'cancelled' } as const
  return Object.entries(outcomes).find(([words]) => textOf(text).includes(words))?.[1] ?? 'not recognised'
}

const times = async <T>(count: number, act: () => Promise<T>): Promise<T[]> => {
  const results: T[] = []
  for (let time = 0; time < count; time += 1) results.push(await act())
  return results
}
const all = (count: number, outcome: Outcome) => Array.from({ length: count }, () => outcome)

describe('codes that a user grants', () => {
  it('are not limited: of sixty within minutes the 21st and the 41st ask to sign in again, and then go on', async () => {
    const installer = await makeInstaller()
    const { web, user } = installer
    expect(await times(20, () => connect(installer))).toEqual(all(20, 'connected'))
    for (const _round of ['the 21st', 'the 41st']) {
      expect(await connect(installer)).toBe('asked to sign in')
      const consent = await web.confirm(user.email, PASSWORD)
      expect(textOf(consent.text)).toContain(t('consent.same_code'))
      expect(textOf((await web.submit('/connect/decision', { decision: 'allow' })).text)).toContain(
        t('decided.granted'),
      )
      expect(await times(19, () => connect(installer))).toEqual(all(19, 'connected'))
    }
    expect(await grantsOf(service, user)).toHaveLength(60)
    expect(await connect(installer)).toBe('asked to sign in')
  })

  it('count for ten minutes, and only since the user signed in', async () => {
    const installer = await makeInstaller()
    await times(10, () => connect(installer))
    await service.database.advance(5 * MINUTE)
    expect(await times(10, () => connect(installer))).toEqual(all(10, 'connected'))
    expect(await connect(installer)).toBe('asked to sign in')
    await service.database.advance(5 * MINUTE)
    expect(await connect(installer)).toBe('connected')

    const other = await makeInstaller()
    await times(19, () => connect(other))
    await service.database.advance(1)
    const again = { user: other.user, web: await signInAs(service, other.user) }
    expect(await times(20, () => connect(again))).toEqual(all(20, 'connected'))
    expect(await connect(again)).toBe('asked to sign in')
    expect(await connect(other), 'in the earlier session').toBe('asked to sign in')
  })

  it('count exactly, also when all of them are granted at once', async () => {
    const { user } = await makeInstaller()
    const sessionId = await startSession(service, user)
    const codes = await times(25, async () => {
      const entered = await enterUserCode(service.context, user.id, (await service.device().code()).user_code)
      if (entered.outcome !== 'claimed') throw new Error(entered.outcome)
      return entered.code
    })
    const by = { kind: 'page', sessionId, address: '127.0.0.1', shown: ['orders:read'], lastGroup: '' } as const
    const results = await Promise.all(codes.map((code) => grantDeviceCode(service.context, user.id, code, by)))
    expect(results.filter(({ outcome }) => outcome === 'granted')).toHaveLength(20)
    expect(results.filter(({ outcome }) => outcome === 'reauthenticate')).toHaveLength(5)
  })

  it('of other users do not count', async () => {
    const [one, other] = [await makeInstaller(), await makeInstaller()]
    await times(20, () => connect(other))
    expect(await connect(one)).toBe('connected')
    expect(await connect(other)).toBe('asked to sign in')
  })
})

describe('codes that a user does not grant', () => {
  it('are twenty in ten minutes: those that they cancel count, those that they grant do not', async () => {
    const installer = await makeInstaller()
    for (let pair = 0; pair < 19; pair += 1) {
      expect([await connect(installer), await connect(installer, 'cancel')]).toEqual(['connected', 'cancelled'])
    }
    expect(await connect(installer, 'cancel')).toBe('cancelled')
    expect(await connect(installer)).toBe('told to wait')
    await service.database.advance(10 * MINUTE)
    expect(await connect(installer)).toBe('connected')
  })

  it('count also if another user grants them afterwards', async () => {
    const [one, other] = [await makeInstaller(), await makeInstaller()]
    for (let turn = 0; turn < 20; turn += 1) {
      const code = await service.device().code()
      await one.web.enterCode(code.user_code)
      await one.web.submit('/connect/switch')
      one.web = await signInAs(service, one.user)
      if (turn < 15) expect(await answer(other.web, code, 'allow')).toBe('connected')
    }
    expect(await connect(one)).toBe('told to wait')
  })

  it('are five in a quarter of an hour where they do not exist, however many the user grants', async () => {
    const installer = await makeInstaller()
    for (let miss = 0; miss < 5; miss += 1) {
      expect(await connect(installer)).toBe('connected')
      expect(await answer(installer.web, { user_code: madeUp() }, 'allow')).toBe('not recognised')
    }
    expect(await connect(installer)).toBe('told to wait')
    await service.database.advance(10 * MINUTE)
    expect(await connect(installer)).toBe('told to wait')
    await service.database.advance(5 * MINUTE)
    expect(await connect(installer)).toBe('connected')
  })
})

it('CODE_ENTRY_LIMIT and CODE_GRANT_LIMIT set both limits', async () => {
  const strict = await startTestService({ CODE_ENTRY_LIMIT: '2', CODE_GRANT_LIMIT: '3' })
  try {
    const installer = await makeInstaller(strict)
    expect(await times(2, () => connect(installer, 'cancel', strict))).toEqual(all(2, 'cancelled'))
    expect(await connect(installer, 'allow', strict)).toBe('told to wait')
    const other = await makeInstaller(strict)
    expect(await times(3, () => connect(other, 'allow', strict))).toEqual(all(3, 'connected'))
    expect(await connect(other, 'allow', strict)).toBe('asked to sign in')

    const { text } = await other.web.get('/connect/code')
    const { user_code } = await strict.device().code()
    const entered = await other.web.send('POST', '/connect/code', {
      ...formFields(text, '/connect/code'),
      code: user_code,
    })
    const asked = await other.web.send('GET', entered.location ?? '')
    expect(asked.location, 'also where they sign in elsewhere').toMatch(/^\/confirm\?.*&anew=1$/)
  } finally {
    await strict.stop()
  }
})
