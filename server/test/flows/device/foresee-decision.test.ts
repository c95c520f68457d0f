/** `latchkey code show --account --user`: what this user would see for the code, without entering it. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { savePolicy } from '../../../src/flows/accounts/policy.ts'
import { showDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { foreseeDecision } from '../../../src/flows/device/foresee-decision.ts'
import { type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { switchTestModeOn } from '../../rig/test-mode.ts'
import { codeRow, UNTOUCHED } from '../../rig/witness.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const someCode = async () => (await service.device().code({ scope: 'orders:read,orders:write' })).user_code
const clerk = () => makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
const foresee = async (userCode: string, { id }: MadeUser) => {
  const shown = await showDeviceCode(service.context.db, service.config.keys, userCode)
  return shown && foreseeDecision(service.context, shown, id)
}

it('a pending code: the scopes that a grant would have and lack, without entering the code', async () => {
  const code = await someCode()
  const granted = { granted: ['orders:read'], lacking: ['orders:write'], prevented: null }
  expect(await foresee(code, await clerk())).toEqual({ entry: 'accepted', ...granted })
  expect(await codeRow(service, code)).toMatchObject(UNTOUCHED)
})

it('a user who holds none of the scopes could claim it, but not grant it', async () => {
  const nobody = await makeUser(service.context.db, service.account.slug, { holds: [] })
  const seen = { entry: 'accepted', granted: [], lacking: ['orders:read', 'orders:write'], prevented: 'lacking' }
  expect(await foresee(await someCode(), nobody)).toEqual(seen)
})

it('a claimed code: open for the user who claimed it, taken for a colleague, closed by a user of another account', async () => {
  const [code, first] = [await someCode(), await clerk()]
  await enterUserCode(service.context, first.id, code)
  const elsewhere = await makeAccount(service.context.db)
  const stranger = await makeUser(service.context.db, elsewhere.slug, { holds: ['orders:read'] })
  expect(await foresee(code, first)).toMatchObject({ entry: 'accepted', prevented: null })
  expect(await foresee(code, await clerk())).toMatchObject({ entry: 'taken' })
  expect(await foresee(code, stranger)).toMatchObject({ entry: 'closes' })
  expect(await codeRow(service, code)).toMatchObject({ claimed_by: first.id, entry_closed: false })
})

it('a decided code is not open; a disabled user and an account without codes are refused', async () => {
  const [decided, open, user] = [await someCode(), await someCode(), await clerk()]
  await service.reject(decided)
  expect(await foresee(decided, user)).toMatchObject({ entry: 'not_open' })
  await service.database.query('update users set disabled_at = now() where id = $1', [user.id])
  expect(await foresee(open, user)).toMatchObject({ entry: 'barred' })

  const account = await makeAccount(service.context.db)
  const administrator = await makeUser(service.context.db, account.slug)
  expect(await foresee(open, administrator)).toMatchObject({ entry: 'accepted' })
  const rules = {
    deviceFlow: false,
    secondFactor: 'optional' as const,
    unverifiedPublishers: true,
    onlyApplications: null,
  }
  await savePolicy(service.context, administrator.id, rules)
  expect(await foresee(open, administrator)).toMatchObject({ entry: 'barred' })
})

it('an application in test mode: no user can enter its code', async () => {
  const application = await makeApplication(service.context.db, service.config, service.account.slug)
  await service.context.applications.refresh()
  const { user_code } = await service.device('oauth', application).code()
  const user = await clerk()
  expect(await foresee(user_code, user)).toMatchObject({ entry: 'accepted', prevented: null })
  await switchTestModeOn(service, application)
  expect(await foresee(user_code, user)).toMatchObject({ entry: 'barred', granted: [] })
  expect((await enterUserCode(service.context, user.id, user_code, { kind: 'page' })).outcome).toBe('not_recognised')
})

it('an empty or malformed user code finds no device code, so there is nothing to foresee', async () => {
  const user = await clerk()
  expect(await foresee('no code', user)).toBeNull()
  expect(await foresee('', user)).toBeNull()
})
