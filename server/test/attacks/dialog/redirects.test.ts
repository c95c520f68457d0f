/** DG-01 to DG-06: redirect URIs that are not registered, and those that cannot be registered. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { makeRegistration } from '../../rig/application-settings.ts'
import { createApplication, setRedirects } from '../../rig/create.ts'
import { post, type WireAnswer } from '../../rig/device.ts'
import { DialogWindow, dialogAddress, makeDialogApplication, makePkce, openQuestion } from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { formFields, textOf, unescapeHtml } from '../../rig/web.ts'
import { everyRow } from '../../rig/witness.ts'
import { type HostileRedirect, hostileRegistrations, redirectCorpus, registered } from './redirect-corpus.ts'

const { t } = wordsFor('en')
const PATHS = ['/auth/oauth/authorize', '/1/auth/oauth/authorize', '/oauth/authorize']
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const challenge = { code_challenge: makePkce().challenge, code_challenge_method: 'S256' }

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service, { redirectUris: registered })
})
afterAll(() => service.stop())

function authorize(path: string, method: 'GET' | 'POST', parameters: Record<string, string>): Promise<WireAnswer> {
  const sent = { client_id: application.id, response_type: 'code', ...challenge, ...parameters }
  return post(service.address, path, method === 'GET' ? { method, query: sent } : { form: sent })
}

/** No header and no link on the page leads anywhere. */
const leadsNowhere = ({ headers, text }: WireAnswer) =>
  headers.location === undefined &&
  headers.refresh === undefined &&
  headers['set-cookie'] === undefined &&
  !/http-equiv|<a(?! class="skip" href="#main")|form action="(?!\/language")/i.test(text)

/** Fifty in parallel, to save time. */
async function eachLine(
  lines: readonly HostileRedirect[],
  work: (line: HostileRedirect) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < lines.length; from += 50) await Promise.all(lines.slice(from, from + 50).map(work))
}

async function expectRefused(lines: readonly HostileRedirect[], path: string, method: 'GET' | 'POST'): Promise<void> {
  const before = await everyRow(service)
  const wrong: unknown[] = []
  await eachLine(lines, async ({ reason, uri }) => {
    const answer = await authorize(path, method, { redirect_uri: uri, state: 'kept' })
    const isPage = String(answer.headers['content-type']).startsWith('text/html')
    if (answer.status !== 400 || !isPage || !leadsNowhere(answer)) wrong.push([reason, uri, answer.status])
  })
  expect(wrong).toEqual([])
  expect(await everyRow(service)).toEqual(before)
}

describe('a redirect URI that is not registered', () => {
  it('differs from the three registered ones, each of which opens a dialog', async () => {
    for (const redirect_uri of registered) {
      const answer = await authorize('/oauth/authorize', 'GET', { redirect_uri })
      expect([redirect_uri, answer.status, answer.headers.location]).toEqual([
        redirect_uri,
        303,
        expect.stringMatching(/^\/dialog\?request=/),
      ])
    }
  })

  it('DG-01, DG-02, DG-03: is refused with a page, without a redirect and without a row, for the whole corpus', async () => {
    await expectRefused(redirectCorpus, '/1/auth/oauth/authorize', 'GET')
  }, 120_000)

  const sample = redirectCorpus.filter((_line, index) => index % 9 === 0)

  it.each(PATHS.flatMap((path) => [['GET', path] as const, ['POST', path] as const]))(
    'DG-01: so is a sample of it by %s %s',
    async (method, path) => {
      await expectRefused(sample, path, method)
    },
  )

  it('DG-01: leads to a page that names the problem, and the address for developers only: escaped, cut, and no link', async () => {
    for (const path of ['/', `/"><a href=x>\u202e${'x'.repeat(300)}`]) {
      const redirect_uri = `https://evil.example${path}`
      const { status, text } = await authorize('/oauth/authorize', 'GET', { redirect_uri })
      const title = t('dialog_problem.redirect_not_registered')
      expect([status, textOf(text)]).toEqual([400, expect.stringContaining(title)])
      const [line = ''] = /<code class="technical" dir="ltr">[^<]*<\/code>/.exec(text) ?? []
      expect(line).toContain('redirect_uri is not registered for this application: https://evil.example/')
      expect(line.length).toBeLessThan(400)
      expect(textOf(text.replace(line, ''))).not.toContain('evil.example')
      expect(text).not.toMatch(/(?:href|src|action)="[^"]*evil/)
      expect(text).not.toMatch(/[\u202e]|<a href=x/)
    }
  })

  it.each([
    ['none', {}],
    ['an empty one', { redirect_uri: '' }],
  ])('DG-01: with %s there is no default, even for an application that has only one', async (_what, given) => {
    const single = await makeDialogApplication(service)
    const before = await everyRow(service)
    const sent = { client_id: single.id, response_type: 'code', ...challenge, ...given }
    const answer = await post(service.address, '/oauth/authorize', { method: 'GET', query: sent })
    expect([answer.status, leadsNowhere(answer)]).toEqual([400, true])
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-01: is refused if given twice, in the query, in the form or in both', async () => {
    const before = await everyRow(service)
    const [ours, theirs] = [encodeURIComponent(CALLBACK), encodeURIComponent('https://evil.example/')]
    const rest = new URLSearchParams({ client_id: application.id, response_type: 'code', ...challenge }).toString()
    const twice = [`redirect_uri=${ours}&redirect_uri=${theirs}`, `redirect_uri=${theirs}&redirect_uri=${ours}`]
    const answers = [
      ...twice.map((pair) => post(service.address, `/oauth/authorize?${rest}&${pair}`, { method: 'GET' })),
      ...twice.map((pair) => post(service.address, '/oauth/authorize', { raw: `${rest}&${pair}`, headers: FORM })),
      post(service.address, `/oauth/authorize?redirect_uri=${theirs}`, {
        form: { ...Object.fromEntries(new URLSearchParams(rest)), redirect_uri: CALLBACK },
      }),
    ]
    for (const answer of await Promise.all(answers)) expect([answer.status, leadsNowhere(answer)]).toEqual([400, true])
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-01: of another application is unknown', async () => {
    const other = await makeDialogApplication(service, { redirectUris: ['https://other.example/callback'] })
    const before = await everyRow(service)
    const answer = await authorize('/oauth/authorize', 'GET', { redirect_uri: 'https://other.example/callback' })
    expect([answer.status, leadsNowhere(answer)]).toEqual([400, true])
    const theirs = await post(service.address, '/oauth/authorize', {
      method: 'GET',
      query: { client_id: other.id, response_type: 'code', redirect_uri: CALLBACK, ...challenge },
    })
    expect([theirs.status, leadsNowhere(theirs)]).toEqual([400, true])
    expect(await everyRow(service)).toEqual(before)
  })
})

describe('registration', () => {
  it('DG-02 to DG-05: refuses every hostile redirect URI, for a new application or later', async () => {
    const { context, config, account } = service
    const before = await everyRow(service)
    const taken: string[] = []
    await eachLine(hostileRegistrations, async ({ uri }) => {
      const wish = makeRegistration(account.slug, {
        allowedScopes: [],
        defaultScopes: [],
        redirectUris: [CALLBACK, uri],
      })
      const created = await createApplication(context.db, config.keys, wish)
      const changed = await setRedirects(context, application.id, [uri, CALLBACK])
      if (created.outcome !== 'refused' || changed !== 'unfit') taken.push(uri)
    })
    expect(taken).toEqual([])
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-04: compares what looks like a pattern as text', async () => {
    const dotted = await makeDialogApplication(service, { redirectUris: ['https://a.example/(cb).+'] })
    const sent = { client_id: dotted.id, response_type: 'code', ...challenge }
    for (const [redirect_uri, status] of [
      ['https://a.example/(cb).+', 303],
      ['https://a.example/cbxx', 400],
      ['https://axexample/(cb).+', 400],
    ] as const) {
      const answer = await post(service.address, '/oauth/authorize', {
        method: 'GET',
        query: { ...sent, redirect_uri },
      })
      expect([redirect_uri, answer.status]).toEqual([redirect_uri, status])
    }
  })
})

describe('an error that the application may be told', () => {
  const wrongs: [string, Record<string, string>, string][] = [
    ['scope', { scope: 'no:such' }, 'invalid_scope'],
    ['response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['response type, absent', { response_type: '' }, 'invalid_request'],
    ['challenge', { code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
    ['silence asked for', { scope: 'no:such', prompt: 'none' }, 'invalid_scope'],
  ]

  describe.each(PATHS)('at %s', (path) => {
    it.each(wrongs)('DG-06: %s: the user is redirected only by pressing the link', async (_what, given, error) => {
      const before = await everyRow(service)
      for (const method of ['GET', 'POST'] as const) {
        const answer = await authorize(path, method, { redirect_uri: CALLBACK, state: 'a b', ...given })
        expect([answer.status, answer.headers.location, answer.headers.refresh]).toEqual([400, undefined, undefined])
        expect(answer.text).not.toMatch(/http-equiv/i)
        const [link, ...others] = Array.from(answer.text.matchAll(/<a class="button" href="([^"]*)"[^>]*>([^<]*)</g))
        expect([others.length, link?.[2]?.trim()]).toEqual([0, t('dialog_problem.return_to', { host: 'app.example' })])
        const href = new URL(unescapeHtml(link?.[1] ?? ''))
        expect(href.origin + href.pathname).toBe(CALLBACK)
        expect(Object.fromEntries(href.searchParams)).toEqual({
          error,
          error_description: expect.any(String),
          state: 'a b',
          iss: service.config.publicUrl,
        })
      }
      expect(await everyRow(service)).toEqual(before)
    })
  })

  it('DG-06: a signed-in user sees the same page', async () => {
    const window = await new DialogWindow(service).signIn(service.user)
    const at = await window.go(dialogAddress(service, { application, parameters: { ...challenge, scope: 'no:such' } }))
    expect([at.left, at.page.status]).toEqual([null, 400])
  })

  it('DG-06: a rejection is sent only by the user’s form, never by a link', async () => {
    const { window } = await openQuestion(service, { application, parameters: challenge })
    const { request = '' } = formFields(window.account.last?.text ?? '', '/dialog/decision')
    const before = await everyRow(service)
    for (const path of ['/dialog/decision', '/dialog']) {
      const answer = await window.account.send('GET', `${path}?${new URLSearchParams({ request, decision: 'cancel' })}`)
      expect([answer.status, answer.location]).toEqual([path === '/dialog' ? 200 : 405, null])
    }
    const unsigned = await window.account.send('POST', '/dialog/decision', { request, shown: '', decision: 'cancel' })
    expect([unsigned.status, unsigned.location]).toEqual([403, null])
    expect(await everyRow(service)).toEqual(before)
  })
})
