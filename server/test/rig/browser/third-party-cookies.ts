/** Chromium with third-party cookies allowed or blocked, and a third party that reports which. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { startChromiumWithProfile } from './chromium.ts'

export type CookieChromium = {
  readonly page: Page
  /** Whether a third party in the page receives the cookie that it set. */
  sendsThirdPartyCookies(): Promise<boolean>
  stop(): Promise<void>
}

/** As in chrome://settings/cookies. */
const MODES = { allowed: 0, blocked: 1 } as const

export async function startCookieChromium(thirdParty: keyof typeof MODES): Promise<CookieChromium> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-profile-'))
  mkdirSync(join(folder, 'Default'))
  const preferences = { profile: { cookie_controls_mode: MODES[thirdParty] } }
  writeFileSync(join(folder, 'Default', 'Preferences'), JSON.stringify(preferences))
  const context = await startChromiumWithProfile(folder)
  const [page = await context.newPage()] = context.pages()
  const server = createServer(({ headers }, response) => {
    response.writeHead(200, {
      'access-control-allow-origin': headers.origin ?? '*',
      'access-control-allow-credentials': 'true',
      'set-cookie': 'third=party; Secure; HttpOnly; SameSite=None',
    })
    response.end(String(headers.cookie?.includes('third=party') === true))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://third.localhost:${(server.address() as AddressInfo).port}/`
  const ask = `fetch('${address}', { credentials: 'include' }).then((response) => response.json())`
  return {
    page,
    sendsThirdPartyCookies: async () => {
      await page.evaluate(ask)
      return page.evaluate<boolean>(ask)
    },
    stop: async () => {
      await context.close()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      removeFolder(folder)
    },
  }
}
