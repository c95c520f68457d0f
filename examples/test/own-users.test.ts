/** A service with its own users: they sign in there, and connect a device at Latchkey. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startChromium, watchViolations } from '../../server/test/rig/browser/chromium.ts'
import { connect } from '../../server/test/rig/connect.ts'
import { makeApplication } from '../../server/test/rig/make.ts'
import { makeManagementKey } from '../../server/test/rig/manage.ts'
import { startTestService, type TestService } from '../../server/test/rig/service.ts'
import { formFields, type Web } from '../../server/test/rig/web.ts'
import { freePort } from '../../tools/free-port.ts'
import { type Program, startExample } from './rig/program.ts'

let service: TestService
let program: Program
let own = ''
beforeAll(async () => {
  const port = await freePort()
  own = `http://127.0.0.1:${port}`
  service = await startTestService({
    SIGN_IN_URL: `${own}/latchkey/sign-in`,
    SIGN_IN_KEYS: `${own}/latchkey/keys`,
    SIGN_IN_CREATES: 'users',
    SECOND_FACTOR_ELSEWHERE: 'trusted',
    POLL_INTERVAL: '1',
  })
  const { context, config, account } = service
  const resource = await makeApplication(context.db, config, account.slug, { deviceFlow: false, resourceServer: true })
  await context.applications.refresh()
  program = startExample('own-users/server.ts', {
    LATCHKEY_BASE_URL: config.publicUrl,
    LATCHKEY_RESOURCE_ID: resource.id,
    LATCHKEY_RESOURCE_SECRET: resource.secret,
    LATCHKEY_MANAGEMENT_KEY: (
      await makeManagementKey(service, { account: account.slug, scopes: ['users:write', 'roles:write'] })
    ).key,
    ACCOUNT: account.slug,
    PORT: String(port),
  })
  await program.says(/The service is at/)
})
afterAll(async () => {
  await program?.stop()
  await service?.stop()
})

const PASSWORD = 'a quiet green harbour'

/** A browser at the service itself: its cookie, and the address that a request leads to. */
function browserAtOwn() {
  let cookie = ''
  return async (path: string, form?: Record<string, string>) => {
    const body = form && new URLSearchParams(form)
    const response = await fetch(new URL(path, own), {
      redirect: 'manual',
      headers: { cookie },
      ...(body ? { method: 'POST', body } : {}),
    })
    cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie
    return { status: response.status, location: response.headers.get('location') ?? '', text: await response.text() }
  }
}

/** Follows the way from Latchkey to the service and back, and signs in there if it asks. */
async function signIn(web: Web, at: ReturnType<typeof browserAtOwn>, email: string, from = '/sign-in'): Promise<void> {
  let answer = await at((await web.send('GET', from)).location ?? '')
  if (answer.location.startsWith('/sign-in')) {
    const { text } = await at(answer.location)
    const { next = '' } = formFields(text, '/sign-in')
    answer = await at((await at('/sign-in', { email, password: PASSWORD, next })).location)
  }
  const back = new URL(answer.location)
  expect(back.origin).toBe(web.origin)
  await web.send('GET', `${back.pathname}${back.search}`)
}

test('a user signs in at the service, connects a device at Latchkey, and the device calls the API', async () => {
  const web = service.web()
  const device = service.device()
  const code = await device.code({ scope: 'orders:read' })
  await signIn(web, browserAtOwn(), 'bob@own.example', '/sign-in?next=%2Fconnect%2Fcode')
  await web.enterCode(code.user_code)
  expect((await web.submit('/connect/decision', { decision: 'allow' })).text).toContain('bob@own.example')
  const { body } = await device.poll(code.device_code)
  expect(body.scope).toBe('orders:read')
  const answer = await fetch(`${own}/orders`, { headers: { authorization: `Bearer ${body.access_token}` } })
  expect([answer.status, await answer.json()]).toMatchObject([200, { account: service.account.slug }])
})

test('in a browser: there and back, and again when the session has ended while a form was open', async () => {
  const chromium = await startChromium()
  onTestFinished(() => chromium.close())
  const page = await chromium.open()
  const violations = watchViolations(page)
  const code = await service.device().code({ scope: 'orders:read' })
  await page.goto(`${service.web().origin}/connect/code`)
  await page.getByLabel('E-mail').fill('bob@own.example')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('#app-code').pressSequentially(code.user_code)
  await service.database.query('delete from sessions')
  await page.locator('form[action="/connect/code"] button[type=submit]').click()
  await page.getByRole('link', { name: `Continue to ${new URL(own).host}` }).click()
  await page.locator('#app-code').pressSequentially(code.user_code)
  await page.locator('form[action="/connect/code"] button[type=submit]').click()
  await page.getByRole('button', { name: 'Allow access' }).click()
  await page.getByRole('heading', { name: 'Access allowed' }).waitFor()
  await page.goto(`${service.web().origin}/`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText(`You may still be signed in at ${new URL(own).host}.`).waitFor()
  expect(violations).toEqual([])
})

test('an owner of the service is an administrator of the account, and a clerk is not', async () => {
  const [ada, bob] = [service.web(), service.web()]
  await signIn(ada, browserAtOwn(), 'ada@own.example')
  await signIn(bob, browserAtOwn(), 'bob@own.example')
  expect((await ada.get('/account/people')).status).toBe(200)
  expect((await bob.get('/account/people')).status).toBe(403)
})

test('whoever is signed in at the service is not asked again, unless the sign-in must be recent', async () => {
  const at = browserAtOwn()
  await signIn(service.web(), at, 'ada@own.example')
  const again = await at((await service.web().send('GET', '/sign-in')).location ?? '')
  expect(again.location).toContain('statement=')
  const asked = new URL((await service.web().send('GET', '/sign-in')).location ?? '')
  asked.searchParams.set('max_age', '-1')
  expect((await at(asked.href)).location).toMatch(/^\/sign-in\?next=/)
})

test('a statement is sent to nobody but Latchkey', async () => {
  const at = browserAtOwn()
  await signIn(service.web(), at, 'ada@own.example')
  const asked = new URL((await service.web().send('GET', '/sign-in')).location ?? '')
  for (const returnTo of ['https://evil.example/', `${own}/`, '//evil.example', '']) {
    asked.searchParams.set('return_to', returnTo)
    expect((await at(asked.href)).status).toBe(400)
  }
})

test('the API refuses a credential without the scope', async () => {
  const { credential } = await connect(service, { scope: 'orders:write' })
  const answer = await fetch(`${own}/orders`, { headers: { authorization: `Bearer ${credential}` } })
  expect(answer.status).toBe(403)
})

test('an owner takes a permission away at the service, and the API refuses what was granted with it', async () => {
  const web = service.web()
  const device = service.device()
  const code = await device.code({ scope: 'orders:read' })
  await signIn(web, browserAtOwn(), 'bob@own.example', '/sign-in?next=%2Fconnect%2Fcode')
  await web.enterCode(code.user_code)
  await web.submit('/connect/decision', { decision: 'allow' })
  const { access_token: token } = (await device.poll(code.device_code)).body
  const orders = async () => (await fetch(`${own}/orders`, { headers: { authorization: `Bearer ${token}` } })).status
  expect(await orders()).toBe(200)

  const [ada, bob] = [browserAtOwn(), browserAtOwn()]
  await ada('/sign-in', { email: 'ada@own.example', password: PASSWORD, next: '/team' })
  await bob('/sign-in', { email: 'bob@own.example', password: PASSWORD, next: '/team' })
  expect((await bob('/team/18', { role: 'owner' })).status).toBe(403)
  expect((await ada('/team/18', { role: 'guest' })).location).toBe('/team')
  await expect.poll(orders, { timeout: 30_000 }).toBe(403)
  expect((await ada('/team/18', { role: 'dismissed' })).location).toBe('/team')
  await expect.poll(orders, { timeout: 30_000 }).toBe(401)
  expect((await ada('/team/18', { role: 'clerk' })).location).toBe('/team')
  await expect.poll(orders, { timeout: 30_000 }).toBe(200)
})

test.each(['latchkey.ts', 'tell-latchkey.ts'])('what a service adds for Latchkey has at most 60 lines: %s', (name) => {
  const text = readFileSync(join(import.meta.dirname, '..', 'own-users', name), 'utf8')
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(60)
})
