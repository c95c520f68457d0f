/** The dialog across cells: opened in one, answered in the cell of the account, exchanged anywhere. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bucketOf } from '../../src/secrets/bucket.ts'
import { findAccount } from '../../src/store/accounts/accounts.ts'
import { PUBLISHER, startTestCells, type TestCells, until } from '../rig/cells.ts'
import {
  allow,
  type DialogService,
  DialogWindow,
  dialogAddress,
  exchange,
  makePkce,
  openQuestion,
  refresh,
} from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication, makeApplication } from '../rig/make.ts'
import { formFields, formTarget, Web } from '../rig/web.ts'
import { A, B, cellOf, HOME, verifyIn } from './cells-scene.ts'

let all: TestCells
let application: MadeApplication
beforeAll(async () => {
  all = await startTestCells()
  const { db, config } = contextOf(HOME)
  application = await makeApplication(db, config, PUBLISHER, { redirectUris: [CALLBACK] })
  for (const { service } of all.cells)
    await until(async () => service.context.applications.find(application.id) !== null)
}, 300_000)
afterAll(() => all?.stop())

const contextOf = (id: number) => cellOf(all, id).service.context
const addressOf = (id: number) => cellOf(all, id).service.address

/** A new user in `cell`, whose browser sends every request to the servers of `via`. */
async function personIn(cell: number, via: number): Promise<DialogService> {
  const context = contextOf(cell)
  const user = await all.makeMember(cell)
  const account = await findAccount(context.db, user.slug)
  if (!account) throw new Error('no account')
  const address = addressOf(via)
  const web = (headers = {}, slug = user.slug) => new Web(address, `${slug}.service.example`, headers)
  return { address, config: context.config, context, account, user, web }
}

const forwardedBy = (cell: number): number => {
  const { samples } = contextOf(cell).counts.forwarded.family()
  return samples.reduce((sum, sample) => sum + ('value' in sample ? sample.value : 0), 0)
}

test.each([
  ['opened in the home cell, account in A, exchanged in B', HOME, A, B],
  ['opened in B, account in A, exchanged in A', B, A, A],
  ['opened in A, account in A, exchanged in the home cell', A, A, HOME],
  ['opened in A, account in the home cell, exchanged in B', A, HOME, B],
])('a dialog %s', async (_title, via, cell, exchangedIn) => {
  const service = await personIn(cell, via)
  const before = forwardedBy(exchangedIn)
  const allowed = await allow(service, { application, parameters: { state: 'ü' } })
  expect(allowed.returned.searchParams.get('state')).toBe('ü')
  expect(bucketOf(allowed.code)).toBe(0xf000 | cell)
  const answer = await exchange({ address: addressOf(exchangedIn) }, application, allowed)
  expect(answer.status).toBe(200)
  expect((await verifyIn(all, cell, answer.body.access_token)).status).toBe(200)
  expect(forwardedBy(exchangedIn) - before).toBeGreaterThanOrEqual(exchangedIn === cell ? 0 : 1)
  const refreshed = await refresh({ address: addressOf(exchangedIn) }, application, answer.body.refresh_token)
  expect(refreshed.status).toBe(200)
  // Once: the second time, in any cell, the code is known, and ends the grant.
  expect((await exchange({ address: addressOf(HOME) }, application, allowed)).status).toBe(400)
  expect(
    await all.query('select from grants where dialog_id is not null and user_id = $1', [service.user.id]),
  ).toHaveLength(1)
})

test('the answer to a hand-over is lost: the user loads the page again, and answers one dialog', async () => {
  const service = await personIn(A, B)
  cellOf(all, A).proxy.loseNext('dialog', 'answered')
  const window = await new DialogWindow(service).signIn(service.user)
  const pkce = makePkce()
  await window.go(
    dialogAddress(service, {
      application,
      parameters: { code_challenge: pkce.challenge, code_challenge_method: 'S256' },
    }),
  )
  const lost = await window.submit(window.base, '/dialog', { typed: service.account.slug })
  expect(lost.page.status).toBe(503)
  const again = await window.go(lost.url.href)
  expect(again.page.status).toBe(200)
  const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
  const code = left?.searchParams.get('code') ?? ''
  expect((await exchange({ address: addressOf(A) }, application, { code, pkce })).status).toBe(200)
})

test('a dialog that was handed to a cell cannot be answered in another', async () => {
  const [first, second] = [await personIn(A, B), await personIn(B, B)]
  const window = await new DialogWindow(first).signIn(first.user)
  await window.go(dialogAddress(first, { application }))
  const chooser = window.base.last
  const ofB = await new DialogWindow(second).signIn(second.user)
  // The same browser, in which users of both accounts are signed in.
  for (const [name, value] of window.base.cookies) ofB.base.cookies.set(name, value)
  ofB.base.last = chooser
  const shownInB = await ofB.submit(ofB.base, '/dialog', { typed: second.account.slug })
  expect(shownInB.page.status).toBe(200)
  const shownInA = await window.submit(window.base, '/dialog', { typed: first.account.slug })
  expect(shownInA.page.status).toBe(200)
  const late = await ofB.submit(ofB.account, '/dialog/decision', { decision: 'allow' })
  expect(late.left).toBeNull()
  expect(late.page.status).toBe(400)
  expect(
    (await window.submit(window.account, '/dialog/decision', { decision: 'allow' })).left?.searchParams.get('code'),
  ).toMatch(/^lkc_f001/)
})

test('an account is found by its name in every cell, on the page that asks for it', async () => {
  const service = await personIn(A, B)
  const base = new Web(addressOf(B), 'service.example')
  await base.get('/activate')
  const found = await base.send('POST', '/activate', { typed: service.account.slug })
  expect(found.location).toMatch(`http://${service.account.slug}.service.example/`)
  expect((await base.send('POST', '/activate', { typed: `${service.account.slug}-x` })).status).toBe(400)
})

test('a dialog of a cell that is away is not answered, and is unharmed', async () => {
  const service = await personIn(A, B)
  cellOf(all, A).proxy.cut()
  const window = new DialogWindow(service)
  await window.go(dialogAddress(service, { application }))
  expect((await window.submit(window.base, '/dialog', { typed: service.account.slug })).page.status).toBe(503)
  cellOf(all, A).proxy.heal()
  await window.signIn(service.user)
  expect((await openQuestion(service, { application })).at.page.status).toBe(200)
})

test('a page that arrives in the wrong cell is forwarded; while its cell is away, an error page says so', async () => {
  const service = await personIn(A, B)
  const window = new DialogWindow(service)
  await window.go(dialogAddress(service, { application }))
  const { base, account } = window
  const shown = base.last?.text ?? ''
  const elsewhere = new Web(addressOf(HOME), base.host)
  for (const [name, value] of base.cookies) elsewhere.cookies.set(name, value)
  const choose = () =>
    elsewhere.send('POST', formTarget(shown, '/dialog'), {
      ...formFields(shown, '/dialog'),
      typed: service.account.slug,
    })
  const visit = () => new Web(addressOf(HOME), account.host).send('GET', '/sign-in')
  for (const [cell, open] of [[B, choose] as const, [A, visit] as const]) {
    cellOf(all, cell).proxy.cut()
    const refused = await open()
    expect([refused.status, refused.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8'])
    cellOf(all, cell).proxy.heal()
  }
  await until(async () => (await visit()).status === 200)
  expect((await choose()).location).toMatch(`http://${account.host}/`)
})
