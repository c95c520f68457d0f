/** Whose product it is: logo, texts and languages of the operator. docs/operations.md, "Your own name, logo and texts". */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { examineConfiguration } from '../../../src/cli/doctor/configuration.ts'
import { readOverlays } from '../../../src/pages/messages/read-overlays.ts'
import { builtInMessages } from '../../../src/pages/ui/words.ts'
import { readLogoFile } from '../../../src/pictures/logo-file.ts'
import { rewritePicture } from '../../../src/pictures/picture.ts'
import { chunk, makePng } from '../../rig/corpora/pictures.ts'
import { post } from '../../rig/device.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { Web } from '../../rig/web.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-branding-'))
const english = builtInMessages('en') ?? {}

/** A whole further language: English with a mark in front. */
const further = (mark: string) => Object.fromEntries(Object.entries(english).map(([key, text]) => [key, mark + text]))

function writeMessages(name: string, files: Readonly<Record<string, unknown>>): string {
  const made = join(folder, name)
  mkdirSync(made)
  for (const [file, content] of Object.entries(files)) {
    writeFileSync(join(made, file), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return made
}

let service: TestService
beforeAll(async () => {
  const logo = join(folder, 'logo.png')
  writeFileSync(logo, makePng({ before: [chunk('eXIf', 'secret place')] }))
  service = await startTestService({
    SERVICE_NAME: 'Acme Cloud',
    SERVICE_LOGO: logo,
    MESSAGES_DIR: writeMessages('good', {
      'en.json': { 'sign_in.heading': 'Welcome back to {name}' },
      'fr.json': further('[fr] '),
      'he.json': further('[he] '),
    }),
  })
})
afterAll(async () => {
  await service.stop()
  removeFolder(folder)
})

describe('the logo of the service', () => {
  it('heads the pages of the service and of every account, and is cached for good, without its metadata', async () => {
    const base = new Web(service.address, new URL(service.config.publicUrl).host)
    const [one, other] = [await service.web().get('/sign-in'), await base.get('/activate')]
    const [, path = ''] = /<img class="service-logo" src="([^"]+)" alt="Acme Cloud"/.exec(one.text) ?? []
    expect(path).toMatch(/^\/assets\/service\.[0-9a-f]{12}\.png$/)
    expect(other.text).toContain(path)
    const headers = { host: base.host, 'accept-encoding': 'br, gzip' }
    const plain = await rewritePicture(makePng())
    const served = await post(service.address, path, { method: 'GET', headers })
    expect(served).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'image/png',
        'content-length': String('picture' in plain && plain.picture.length),
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      },
    })
    expect(served.headers['content-encoding']).toBeUndefined()
  })

  it.each([
    ['is not there', null, /ENOENT/],
    ['is an SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>', /it is of the type SVG/],
    ['is too wide', makePng({ width: 1025 }), /it has 1025 by 2 pixels/],
  ])('that %s stops the start, with the reason', async (name, content, reason) => {
    const file = join(folder, name)
    if (content !== null) writeFileSync(file, content)
    await expect(readLogoFile(file)).rejects.toThrow(reason)
    const [finding] = await examineConfiguration({ serviceLogo: file }, [])
    expect(finding).toMatchObject({ severity: 'broken', what: expect.stringMatching(reason) })
  })
})

describe('overlays', () => {
  const signIn = async (language: string) => (await service.web({ 'accept-language': language }).get('/sign-in')).text

  it('replace single texts of a language', async () => {
    expect(await signIn('en')).toContain('Welcome back to')
    expect(await signIn('de')).toContain('E-Mail-Adresse')
  })

  it('add a language, which the browser can ask for and everybody can choose', async () => {
    const text = await signIn('fr-CA, en;q=0.5')
    expect(text).toContain('<html lang="fr" dir="ltr">')
    expect(text).toContain('[fr] Password')
    const web = service.web({ 'accept-language': 'en' })
    expect((await web.get('/sign-in')).text).toMatch(/value="fr" lang="fr"[^>]*>Français</)
    await web.send('POST', '/language', { language: 'fr', next: '/sign-in' })
    expect((await web.get('/sign-in')).text).toContain('[fr] Password')
  })

  it('add a language that is written from right to left', async () => {
    expect(await signIn('he')).toContain('<html lang="he" dir="rtl">')
  })

  it.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
    [
      'an unknown key',
      { 'en.json': { 'sign_in.headline': 'Hello' } },
      /en\.json: sign_in\.headline: is not the key of a text/,
    ],
    [
      'a missing key',
      { 'fr.json': { ...further(''), 'sign_in.email': undefined } },
      /fr\.json: sign_in\.email: is missing/,
    ],
    [
      'a lost placeholder',
      { 'en.json': { 'sign_in.heading': 'Welcome' } },
      /sign_in\.heading: takes nothing instead of \{name\}/,
    ],
    ['another placeholder', { 'en.json': { 'sign_in.heading': '{nmae}' } }, /takes \{nmae\} instead of \{name\}/],
    [
      'a lost element',
      { 'en.json': { 'consent.heading': '{application} {name}' } },
      /takes \{application\}, \{name\} instead of <b>/,
    ],
    ['HTML', { 'en.json': { 'sign_in.title': '<script>x</script>' } }, /sign_in\.title: takes <script>/],
    ['an entity', { 'en.json': { 'sign_in.title': 'Sign&nbsp;in' } }, /sign_in\.title: contains HTML/],
    ['a broken text', { 'en.json': { 'sign_in.heading': '{name' } }, /sign_in\.heading: cannot be read/],
    ['an empty text', { 'en.json': { 'sign_in.title': ' ' } }, /sign_in\.title: is not a text/],
    ['no texts', { 'en.json': [] }, /en\.json: is not a JSON object/],
    ['no JSON', { 'en.json': '{' }, /en\.json: .*JSON/],
    ['another file', { 'README.md': 'x' }, /README\.md: is not named like a language/],
  ])('with %s stop the start, and file and key are named', async (name, files, reason) => {
    const made = writeMessages(`bad ${name}`, files)
    await expect(readOverlays(made)).rejects.toThrow(reason)
    const [finding] = await examineConfiguration({ messagesDir: made }, [])
    expect(finding).toMatchObject({ severity: 'broken', what: expect.stringMatching(reason) })
  })

  it('that are all built-in texts are accepted, so a template can be edited line by line', async () => {
    const files = Object.fromEntries(['en', 'de', 'es', 'ar'].map((code) => [`${code}.json`, builtInMessages(code)]))
    expect(await readOverlays(writeMessages('templates', files))).toHaveLength(4)
  })
})
