/** The television of examples/, registered at Northwind's service and started; and a user who enters its code. */
import type { Page } from 'playwright-core'
import { setApplicationPublisher } from '../../../server/src/flows/applications/manage.ts'
import { press, submit } from '../../../server/test/rig/browser/clicks.ts'
import { type MadeUser, makeApplication } from '../../../server/test/rig/make.ts'
import { type Northwind, PASSWORD } from '../../../server/test/rig/scenes/northwind.ts'
import { onFreePort } from '../../../tools/free-port.ts'
import { startExample } from './program.ts'

/** As the set in the living room. */
export const SOFA = { viewport: { width: 1280, height: 720 }, colorScheme: 'dark' } as const

export type Television = { readonly address: string; stop(): Promise<void> }

export async function startTelevision({ service }: Northwind): Promise<Television> {
  const { context, config } = service
  const scopes = ['orders:read', 'displays:write']
  const wish = { name: 'Acme Television', allowedScopes: scopes, defaultScopes: scopes }
  const { id, secret } = await makeApplication(context.db, config, 'makers', wish)
  await setApplicationPublisher(context.db, id, { status: 'verified', name: 'acme.example' })
  await context.applications.refresh()
  return onFreePort(async (port) => {
    const program = startExample('television/server.ts', {
      LATCHKEY_BASE_URL: config.publicUrl,
      LATCHKEY_APP_ID: id,
      LATCHKEY_APP_SECRET: secret,
      PORT: String(port),
    })
    await program.says(/The television is on/)
    return { address: `http://127.0.0.1:${port}`, stop: program.stop }
  })
}

/** Presses the focused button, as a remote control does, and waits for the screen with this id. */
export async function pressOk(screen: Page, next: string): Promise<void> {
  await screen.locator('button:focus').waitFor()
  await screen.keyboard.press('Enter')
  await screen.locator(`#${next}:not([hidden])`).waitFor()
}

/** From the address on the screen to the consent page: first the account, then the sign-in. */
export async function takeCodeToAccount(page: Page, screen: Page, slug: string, user: MadeUser): Promise<void> {
  await page.goto(`http://${await screen.locator('#address').textContent()}`)
  await page.fill('#typed', slug)
  await press(page, 'form[action="/activate"]:has(#typed) button[type=submit]')
  await page.fill('#email', user.email)
  await page.fill('#password', PASSWORD)
  await submit(page, '/sign-in')
  await page.locator('#app-code').pressSequentially((await screen.locator('#digits').textContent()) ?? '')
  await submit(page, '/connect/code')
}
