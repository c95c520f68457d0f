/** The address of the service itself, which people type when they read it on a device: a page for a browser, an error for a program. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { post } from '../../rig/device.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ SERVICE_NAME: 'Acme Cloud' })
})
afterAll(() => service.stop())

const base = () => new URL(service.config.publicUrl).host
const get = (path: string, accept?: string, language = 'en', method = 'GET') =>
  post(service.address, path, {
    method,
    headers: { host: base(), 'accept-language': language, ...(accept === undefined ? {} : { accept }) },
  })

/** As Chromium sends it. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

describe('GET / of the service', () => {
  it.each(['en', 'de', 'es', 'ar'])(
    'leads a browser to the entry of a code and to the reference, in %s',
    async (language) => {
      const { t } = wordsFor(language)
      const { status, headers, text } = await get('/', BROWSER, language)
      expect([status, headers['content-type'], headers['cache-control']]).toEqual([
        200,
        'text/html; charset=utf-8',
        'no-store',
      ])
      expect(text).toContain('Acme Cloud')
      expect(text).toContain(`href="/activate">${t('home.enter_code')}</a>`)
      expect(text).toContain(`href="/reference">${t('service_home.reference')}</a>`)
    },
  )

  it.each([undefined, '*/*', 'application/json'])('answers a program that accepts %s with JSON', async (accept) => {
    const { status, headers, body } = await get('/', accept)
    expect([status, headers['content-type']]).toEqual([421, 'application/json; charset=utf-8'])
    expect(body).toEqual({
      error: 'misdirected',
      message: `This page is served only on the subdomain of an account, such as http://acme.${base()}/`,
    })
  })

  it('refuses a form', async () => {
    expect((await get('/', BROWSER, 'en', 'POST')).status).toBe(405)
  })
})

it('another page of an account names the form of its address, too', async () => {
  const { status, body } = await get('/sign-in', BROWSER)
  expect([status, body.message]).toEqual([421, expect.stringContaining(`http://acme.${base()}/sign-in`)])
})
