/** Test mode in every cell: it is switched on in the home cell, and the codes of every cell are decided there. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endTestMode, startTestMode } from '../../src/flows/applications/test-mode.ts'
import { enterUserCode } from '../../src/flows/device/enter-code.ts'
import { sweep } from '../../src/flows/sweep.ts'
import { PUBLISHER, startTestCells, type TestCells, until } from '../rig/cells.ts'
import { collect, Device, post } from '../rig/device.ts'
import { type MadeApplication, type MadeUser, makeApplication, makeUser } from '../rig/make.ts'
import { A, B, cellOf, factsOf, HOME, verifyIn } from './cells-scene.ts'

let all: TestCells
let developer: MadeUser
let application: MadeApplication
let secret: string
beforeAll(async () => {
  all = await startTestCells({ POLL_INTERVAL: '1' })
  const { db, config } = contextOf(HOME)
  developer = await makeUser(db, PUBLISHER)
  application = await makeApplication(db, config, PUBLISHER)
  const started = await startTestMode(contextOf(HOME), developer.id, application.id)
  if (started.outcome !== 'started') throw new Error(started.outcome)
  secret = started.secret
  await until(async () => all.cells.every(({ service }) => isInTestMode(service.context)))
}, 300_000)
afterAll(() => all?.stop())

const contextOf = (id: number) => cellOf(all, id).service.context
const isInTestMode = ({ applications }: ReturnType<typeof contextOf>) =>
  Boolean(applications.find(application.id)?.testMode)
const deviceAt = (cell: number, by = application) => new Device(cellOf(all, cell).service.address, by)

const decide = (cell: number, userCode: string, decision: 'grant' | 'reject', testSecret = secret) =>
  post(cellOf(all, cell).service.address, '/auth/test/decision', {
    form: { ...deviceAt(cell).credentials, test_secret: testSecret, user_code: userCode, decision },
  })

test('a code of any cell is decided by a request to any cell', async () => {
  for (const issuer of [HOME, A, B]) {
    for (const asked of [HOME, A, B]) {
      const code = await deviceAt(issuer).code()
      expect(await decide(asked, code.user_code, 'grant')).toMatchObject({
        status: 200,
        body: { scope: 'orders:read' },
      })
      const answer = await collect(deviceAt(issuer), code.device_code)
      expect(answer.status).toBe(200)
      expect((await verifyIn(all, HOME, answer.body.access_token)).status).toBe(200)
    }
  }
  const rejected = await deviceAt(A).code()
  expect((await decide(B, rejected.user_code, 'reject')).status).toBe(200)
  expect((await collect(deviceAt(A), rejected.device_code)).body.error).toBe('auth_rejected')
})

test('a wrong test secret decides nothing in any cell', async () => {
  const code = await deviceAt(A).code()
  for (const asked of [HOME, A, B]) {
    expect((await decide(asked, code.user_code, 'grant', `lkt_${'A'.repeat(43)}`)).body.error).toBe(
      'invalid_test_secret',
    )
  }
  expect(await factsOf(all, code)).toMatchObject({ holders: [A], grants: 0 })
})

test('a code of another application is not even handed over', async () => {
  const code = await all.device(A).code()
  expect((await decide(B, code.user_code, 'grant')).body.error).toBe('invalid')
  expect(await factsOf(all, code)).toMatchObject({ holders: [A], grants: 0, statuses: ['pending'] })
})

test('a code may be given a shorter life in every cell, and no person can enter it in any', async () => {
  for (const cell of [HOME, A, B]) {
    const { body } = await deviceAt(cell).request({ expires_in: '30' })
    expect(body.expires_in).toBe(30)
    for (const entered of [HOME, A, B]) {
      const { id } = await all.makeMember(entered)
      const { outcome } = await enterUserCode(contextOf(entered), id, body.user_code, { kind: 'page' })
      expect(outcome).toBe('not_recognised')
    }
  }
})

test('test mode that ends in the home cell ends in all, and no cell but the home cell ends it', async () => {
  const code = await deviceAt(A).code()
  await decide(A, code.user_code, 'grant')
  const { access_token } = (await collect(deviceAt(A), code.device_code)).body
  await cellOf(all, A).pool.query(
    'set session_replication_role = replica; update application_test_modes set ends_at = started_at; set session_replication_role = origin',
  )
  await sweep(contextOf(A).db, contextOf(A).config)
  expect((await verifyIn(all, HOME, access_token)).status).toBe(200)
  await endTestMode(contextOf(HOME), developer.id, application.id)
  await until(async () => all.cells.every(({ service }) => !isInTestMode(service.context)), 5_000)
  await until(async () => (await verifyIn(all, HOME, access_token)).status === 401, 5_000)
  expect((await deviceAt(A).request({ expires_in: '30' })).body.expires_in).toBe(600)
})
