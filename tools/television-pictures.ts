/**
 * Screenshots of the television example: waiting, the consent page on a phone, connected. Part of `npm run screenshots`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { pressOk, SOFA, startTelevision, takeCodeToAccount } from '../examples/test/rig/television.ts'
import type { Chromium } from '../server/test/rig/browser/chromium.ts'
import { decide } from '../server/test/rig/browser/clicks.ts'
import { startNorthwind } from '../server/test/rig/scenes/northwind.ts'
import { palettePng } from './palette-png.ts'
import { GALLERY } from './shown-screenshots.ts'

const PHONE = { viewport: { width: 430, height: 860 }, colorScheme: 'light' } as const

/** Uses its own service: outside a browser, not every system resolves subdomains of localhost. */
export async function takeTelevision(chromium: Chromium): Promise<void> {
  const northwind = await startNorthwind({ PORT: '28080', PUBLIC_URL: 'http://localhost:28080' })
  const television = await startTelevision(northwind)
  try {
    const screen = await chromium.open({ ...SOFA, baseURL: television.address })
    const phone = await chromium.open(PHONE)
    await screen.goto('/')
    await pressOk(screen, 'code')
    await take(screen, 'waiting')
    await takeCodeToAccount(phone, screen, northwind.slug, northwind.dana)
    await take(phone, 'decision')
    await decide(phone, 'allow')
    await screen.locator('#connected:not([hidden])').waitFor()
    await take(screen, 'connected')
  } finally {
    await television.stop()
    await northwind.stop()
  }
}

async function take(page: Page, name: string): Promise<void> {
  const picture = palettePng(await page.screenshot({ animations: 'disabled' }))
  writeFileSync(join(GALLERY, `television-${name}.png`), picture)
}
