/** The dialog's error pages name the true cause, on a line for developers. docs/interface/dialog.md. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { makeDialogApplication } from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { textOf } from '../rig/web.ts'

const { t } = wordsFor('en')

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service)
})
afterAll(() => service.stop())

const line = ({ text }: WireAnswer) => textOf(/<code class="technical" dir="ltr">([^<]*)<\/code>/.exec(text)?.[1] ?? '')
const title = ({ text }: WireAnswer) => textOf(/<h1[^>]*>(.*?)<\/h1>/s.exec(text)?.[1] ?? '')
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const MALFORMED = 'dialog_problem.bad_request'
const missing = (name: string) => `invalid_request: The parameter ${name} is missing.`

type Case = readonly [what: string, change: Record<string, string | undefined>, titled: string, line: string]

const cases: readonly Case[] = [
  ['no client_id', { client_id: undefined }, MALFORMED, missing('client_id')],
  ['an empty client_id', { client_id: '' }, MALFORMED, missing('client_id')],
  ['no client_id beside a request_uri', { client_id: undefined, request_uri: 'x' }, MALFORMED, missing('client_id')],
  [
    'an unknown client_id',
    { client_id: 'app_<b>' },
    'dialog_problem.unknown_application',
    'invalid_request: The client_id is unknown: app_<b>',
  ],
  ['no redirect_uri', { redirect_uri: undefined }, MALFORMED, missing('redirect_uri')],
  ['an empty redirect_uri', { redirect_uri: '' }, MALFORMED, missing('redirect_uri')],
  [
    'another redirect_uri',
    { redirect_uri: `${CALLBACK}/x y` },
    'dialog_problem.redirect_not_registered',
    `invalid_request: The redirect_uri is not registered for this application: ${CALLBACK}/x%20y`,
  ],
  [
    'no response_type',
    { response_type: undefined },
    MALFORMED,
    `${missing('response_type').slice(0, -1)}; it must be code.`,
  ],
  ['a long state', { state: 'x'.repeat(1025) }, MALFORMED, 'invalid_request: The state is longer than 1024 bytes.'],
]

describe.each(['/auth/oauth/authorize', '/1/auth/oauth/authorize', '/oauth/authorize'])('%s', (path) => {
  const complete = (): Record<string, string | undefined> => ({
    client_id: application.id,
    response_type: 'code',
    redirect_uri: CALLBACK,
  })
  const encoded = (given: Record<string, string | undefined>) =>
    new URLSearchParams(
      Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined),
    ).toString()
  const ask = async (text: string) => {
    const byForm = await post(service.address, path, { raw: text, headers: FORM })
    const opened = byForm.headers.location
    return [
      await post(service.address, `${path}?${text}`, { method: 'GET' }),
      opened === undefined ? byForm : await post(service.address, String(opened), { method: 'GET' }),
    ]
  }

  it.each(cases)('%s', async (_what, change, titled, told) => {
    for (const answer of await ask(encoded({ ...complete(), ...change }))) {
      expect([answer.status, title(answer), line(answer)]).toEqual([
        400,
        t(titled as 'dialog_problem.bad_request'),
        told,
      ])
      expect(textOf(answer.text)).toContain(t('dialog_problem.for_developers'))
    }
  })

  it.each([
    ['state=a&state=a', 'The parameter state is given twice.'],
    ['client_id=x', 'The parameter client_id is given twice.'],
    ['%3Cb%3E=1&%3Cb%3E=1', 'A parameter is given twice.'],
    ['scope=%FF', 'The parameter scope is not form-encoded UTF-8.'],
    ['scope=%00', 'The parameter scope contains a NUL character.'],
  ])('what cannot be read: %s', async (text, told) => {
    for (const answer of await ask(`${encoded(complete())}&${text}`)) {
      const named = [400, t('refusal.invalid_request'), `invalid_request: ${told}`]
      expect([answer.status, title(answer), line(answer)]).toEqual(named)
    }
  })
})

it('a pushed request is told the same', async () => {
  const { id: client_id, secret: client_secret } = application
  const push = async (form: Record<string, string>) => {
    const answer = await post(service.address, '/oauth/par', { form: { client_id, client_secret, ...form } })
    return [answer.status, answer.body.error, answer.body.error_description]
  }
  const code = { response_type: 'code', redirect_uri: CALLBACK }
  expect(await push({ response_type: 'code' })).toEqual([
    400,
    'invalid_request',
    'The parameter redirect_uri is missing.',
  ])
  expect(await push({ ...code, state: '\x07' })).toEqual([
    400,
    'invalid_request',
    expect.stringMatching(/^The state has a character that XML 1\.0 cannot carry/),
  ])
})

it('a page of an account has no line for developers', async () => {
  const { host } = service.web()
  const answer = await post(service.address, '/sign-in?next=/&next=/', { method: 'GET', headers: { host } })
  expect([answer.status, line(answer)]).toEqual([400, ''])
})
