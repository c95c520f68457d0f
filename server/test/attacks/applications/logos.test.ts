/** WB-18, AD-05: logos of applications. The service re-encodes them and shows them as pictures to users who may see them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BY_COMMAND_LINE } from '../../../src/core/audit/actor.ts'
import { setApplicationPublisher } from '../../../src/flows/applications/manage.ts'
import { acceptProposal } from '../../../src/flows/applications/proposals.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { findApplication } from '../../../src/store/applications/applications.ts'
import { listEveryProposal } from '../../../src/store/applications/proposals.ts'
import { drawLogo } from '../../rig/corpora/logo.ts'
import { chunk, makePng, noPictures } from '../../rig/corpora/pictures.ts'
import { type MadeUser, makeScopes, makeUser } from '../../rig/make.ts'
import { type File, upload } from '../../rig/pages/upload.ts'
import { makeOwn, makeStranger } from '../../rig/scenes/publisher.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, signedFor, signInAs } from '../../rig/signed-in.ts'
import { textOf, type Web } from '../../rig/web.ts'
import { everyRow } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const PAGE = '/developer/application/logo'

let service: TestService
let owner: MadeUser
let web: Web
let logo: Buffer
beforeAll(async () => {
  service = await startTestService()
  await makeScopes(service.context.db, ['orders:read'])
  owner = await makeUser(service.context.db, service.account.slug)
  web = await signInAs(service, owner)
  logo = await drawLogo()
})
afterAll(() => service.stop())

let count = 0
const make = () => {
  count += 1
  return makeOwn(service, owner, `Frame ${count}`)
}

async function send(id: string, file: Partial<File> & { readonly bytes: Buffer }, more: Record<string, string> = {}) {
  const form = await signedFor(service, owner, PAGE, { application: id })
  return upload(web, PAGE, { ...form, ...more }, { name: 'logo', ...file })
}

const stored = async (id: string) => {
  const [row] = await service.database.query<{ logo: Buffer | null; version: string | null }>(
    'select logo, logo_version as version from applications where id = $1',
    [id],
  )
  return { logo: row?.logo ?? null, version: row?.version ?? null }
}
const address = (id: string, version: string | null) => `/application-logo?application=${id}&v=${version}`
const vouch = (id: string) => setApplicationPublisher(service.context.db, id, { status: 'own', name: null })

async function makeShown(): Promise<{ id: string; secret: string; version: string | null }> {
  const application = await make()
  await vouch(application.id)
  await send(application.id, { bytes: logo })
  const [proposal] = (await listEveryProposal(service.context.db)).filter(
    (each) => each.applicationId === application.id,
  )
  await acceptProposal(service.context, BY_COMMAND_LINE, application.id, proposal?.version ?? 0)
  return { ...application, version: (await stored(application.id)).version }
}

/** Whatever is wrong, the page names it. */
const REASONS =
  /is not an image that can be used|of the type (GIF|JPEG|SVG|WebP)|is incomplete or damaged|8 bits per|is interlaced/

describe('an uploaded file', () => {
  it('WB-18: that is not a picture is not stored, for the whole corpus, and the page says so', async () => {
    const { id } = await make()
    const before = await everyRow(service)
    for (const [what, bytes] of noPictures.filter(([, { length }]) => length > 0)) {
      const answer = await send(id, { bytes })
      expect([what, answer.status, textOf(answer.text)]).toEqual([what, 400, expect.stringMatching(REASONS)])
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('WB-18: loses everything but its pixels: metadata and appended data are not stored', async () => {
    const { id } = await make()
    const SCRIPT = '<script>alert(document.domain)</script>'
    const bytes = makePng({ before: ['tEXt', 'iTXt', 'eXIf'].map((type) => chunk(type, SCRIPT)) })
    expect((await send(id, { bytes, type: 'text/html' })).status).toBe(303)
    expect((await stored(id)).logo?.includes('script')).toBe(false)
  })

  it('is required, unless the box that removes the logo is ticked', async () => {
    const { id } = await make()
    const nothing = await send(id, { bytes: Buffer.alloc(0) })
    expect([nothing.status, textOf(nothing.text)]).toEqual([
      400,
      expect.stringContaining(t('application_logo.problem_none')),
    ])
    await send(id, { bytes: logo })
    expect((await stored(id)).logo).toEqual(logo)
    expect((await send(id, { bytes: Buffer.alloc(0) }, { remove_logo: 'on' })).status).toBe(303)
    expect(await stored(id)).toEqual({ logo: null, version: null })
  })

  it('AD-05: is not stored for another account’s application, with a signed or an unsigned form', async () => {
    const { id } = await make()
    const stranger = await makeStranger(service)
    const form = await signedFor(service, stranger, PAGE, { application: id })
    const before = await everyRow(service)
    expect((await upload(stranger.web, PAGE, form, { name: 'logo', bytes: logo })).status).toBe(404)
    expect((await upload(stranger.web, PAGE, { application: id }, { name: 'logo', bytes: logo })).status).toBe(403)
    expect(await everyRow(service)).toEqual(before)
  })

  it('AD-04: does not change the owner or the visibility of the logo by additional fields', async () => {
    const { id } = await make()
    const more = {
      logo_version: '0123456789ab',
      vouched_at: 'now',
      publisher_status: 'own',
      publisher_proven_at: 'now',
    }
    expect((await send(id, { bytes: logo }, more)).status).toBe(303)
    expect(await findApplication(service.context.db, id)).toMatchObject({
      vouchedFor: false,
      publisher: { status: 'unverified' },
      logoVersion: expect.not.stringMatching('0123456789ab'),
    })
  })
})

describe('a stored logo', () => {
  it('is served as a picture to everybody, and cached for good under its version only', async () => {
    const { id, version } = await makeShown()
    const { web: clerk } = await makeSignedInUser(service)
    for (const somebody of [service.web(), clerk, (await makeStranger(service)).web]) {
      const answer = await somebody.send('GET', address(id, version))
      expect(answer.status).toBe(200)
      expect(answer.headers).toMatchObject({
        'content-type': 'image/png',
        'content-length': String(logo.length),
        'cache-control': 'private, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
        'content-security-policy': expect.stringContaining("default-src 'none'"),
      })
      const other = await somebody.send('GET', address(id, 'ffffffffffff'))
      expect([other.status, other.headers['cache-control']]).toEqual([200, 'no-store'])
    }
  })

  it('is shown on the consent page and in the list once the publisher is verified; before that, an initial', async () => {
    const shown = await makeShown()
    const hidden = await make()
    await send(hidden.id, { bytes: logo })
    const visitor = await makeSignedInUser(service)
    for (const [application, pictures] of [
      [shown, 1],
      [hidden, 0],
    ] as const) {
      const { user_code } = await service.device('oauth', application).code()
      const { text } = await visitor.web.enterCode(user_code)
      expect(text.match(/\/application-logo/g) ?? []).toHaveLength(pictures)
      await service.grant((await service.device('oauth', application).code()).user_code, visitor.user)
    }
    const { text } = await visitor.web.get('/applications')
    expect(text.match(/\/application-logo/g)).toHaveLength(1)
    expect(text).toContain(address(shown.id, shown.version).replace('&', '&amp;'))
    const preview = await web.get(`/developer/application/preview?application=${hidden.id}&by=code`)
    expect(preview.text, 'the preview is honest').not.toContain('/application-logo')
  })

  it('AD-05: of an unverified application is shown to users of its own account only', async () => {
    const { id } = await make()
    await send(id, { bytes: logo })
    const { version } = await stored(id)
    const { web: clerk } = await makeSignedInUser(service)
    expect((await web.send('GET', address(id, version))).status).toBe(200)
    expect((await clerk.send('GET', address(id, version))).status).toBe(200)
    for (const other of [service.web(), (await makeStranger(service)).web]) {
      expect((await other.send('GET', address(id, version))).status).toBe(404)
    }
  })

  it.each([
    '',
    '?application=',
    '?application=app_000000000000&v=1',
    '?application=%27%20or%201%3D1--&v=x',
    '?application=../../etc/passwd&v=..',
  ])('nothing is found under /application-logo%s', async (query) => {
    expect((await service.web().send('GET', `/application-logo${query}`)).status).toBe(404)
  })
})
