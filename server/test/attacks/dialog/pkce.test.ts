/** DG-11, DG-12: PKCE omitted, downgraded and guessed (RFC 7636). */
import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { post, type WireAnswer } from '../../rig/device.ts'
import {
  type Allowed,
  allow,
  allSettled,
  exchange,
  makeDialogApplication,
  makePkce,
  openQuestion,
  traceOf,
} from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication, type MadeUser, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'
import { everyRow } from '../../rig/witness.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterEach(() => allSettled(service))
afterAll(() => service.stop())

type Given = Allowed & { readonly application: MadeApplication; readonly user: MadeUser }
type Wish = Parameters<typeof makeDialogApplication>[1]

async function givenCode(wish: Wish = {}, parameters?: Record<string, string>): Promise<Given> {
  const application = await makeDialogApplication(service, wish)
  const user = await makeUser(service.context.db, service.account.slug)
  return { application, user, ...(await allow(service, { application, user, ...(parameters ? { parameters } : {}) })) }
}

/** As `exchange`, but with a given verifier, or none. */
function exchangeWith({ application, code }: Given, verifier: string | null): Promise<WireAnswer> {
  const by = { SVCappid: application.id, ...(application.secret === '' ? {} : { SVCsecret: application.secret }) }
  const proof = verifier === null ? {} : { code_verifier: verifier }
  return post(service.address, '/auth/oauth/token', { form: { ...by, code, redirect_uri: CALLBACK, ...proof } })
}

const heard = ({ status, body }: WireAnswer) => [status, status === 200 ? 'tokens' : body.error]
const REFUSED = [400, 'invalid_grant']
const WRONG = sized(1_000, 200)

const BURNED = {
  dialogs: ['used'],
  grants: ['authorization_code_refused'],
  events: ['grant.created', 'grant.revoked'],
  mails: ['grant_created'],
}

async function expectBurned(given: Given, wrong: string | null): Promise<void> {
  expect(heard(await exchangeWith(given, wrong))).toEqual(REFUSED)
  expect(await traceOf(service, given.application, given.user)).toEqual(BURNED)
  const before = await everyRow(service)
  expect(heard(await exchangeWith(given, given.pkce.verifier)), 'the right one comes too late').toEqual(REFUSED)
  expect(await everyRow(service)).toEqual(before)
}

/** Refused by its form alone: nothing changes, and the verifier still works. */
async function expectKept(given: Given): Promise<void> {
  const before = await everyRow(service)
  const refused = await exchangeWith(given, null)
  const message = 'The parameter code_verifier is missing: the dialog had a challenge.'
  expect([refused.status, refused.body]).toEqual([400, { error: 'invalid_request', message }])
  expect(await everyRow(service)).toEqual(before)
  expect(heard(await exchangeWith(given, given.pkce.verifier))).toEqual([200, 'tokens'])
  await allSettled(service)
  expect(heard(await exchangeWith(given, null)), 'and not once more').toEqual(REFUSED)
}

/** No dialog is opened: a page with a link, and no row. */
async function expectNotOpened(application: MadeApplication, parameters: Record<string, string>): Promise<void> {
  const before = await everyRow(service)
  const sent = { client_id: application.id, response_type: 'code', redirect_uri: CALLBACK, ...parameters }
  for (const path of ['/auth/oauth/authorize', '/oauth/authorize']) {
    for (const request of [{ method: 'GET', query: sent }, { form: sent }]) {
      const answer = await post(service.address, path, request)
      expect([answer.status, answer.headers.location, answer.headers['set-cookie']]).toEqual([
        400,
        undefined,
        undefined,
      ])
      expect(answer.text).toContain('error=invalid_request')
    }
  }
  const { id: client_id, secret } = application
  const pushed = await post(service.address, '/oauth/par', {
    form: { ...sent, client_id, ...(secret === '' ? {} : { client_secret: secret }) },
  })
  expect([pushed.status, pushed.body.error]).toEqual([400, 'invalid_request'])
  expect(await everyRow(service)).toEqual(before)
}

const { verifier, challenge } = makePkce()

describe.each<[string, Wish]>([
  ['a confidential application that must use PKCE', { pkceRequired: true }],
  ['a public application', { public: true }],
])('downgrades of %s', (_what, wish) => {
  it('DG-11: the challenge dropped: no dialog opens', async () => {
    const application = await makeDialogApplication(service, wish)
    await expectNotOpened(application, {})
    await expectNotOpened(application, { code_challenge_method: 'S256' })
  })

  it('DG-11: the verifier dropped: refused without a change, and valid with the verifier only', async () => {
    await expectKept(await givenCode(wish))
  })

  it.each(['plain', 'PLAIN', 's256', 'S256 ', 'S512', 'none', 'null', ''])(
    'DG-11: the method %j: no dialog opens, with a hash or with the verifier itself',
    async (method) => {
      const application = await makeDialogApplication(service, wish)
      await expectNotOpened(application, { code_challenge: challenge, code_challenge_method: method })
      await expectNotOpened(application, { code_challenge: verifier, code_challenge_method: method })
    },
  )

  it('DG-11: no method, which means plain in RFC 7636: no dialog opens', async () => {
    await expectNotOpened(await makeDialogApplication(service, wish), { code_challenge: challenge })
  })

  it('DG-11: empty values count as missing: no dialog opens, and an empty verifier invalidates the code', async () => {
    const application = await makeDialogApplication(service, wish)
    await expectNotOpened(application, { code_challenge: '', code_challenge_method: 'S256' })
    await expectNotOpened(application, { code_challenge: '', code_challenge_method: '' })
    await expectBurned(await givenCode(wish), '')
  })

  it.each([
    ['too short', challenge.slice(1)],
    ['too long', `${challenge}A`],
    ['padded', `${challenge}=`],
    ['in base64', `${challenge.slice(1)}+`],
    ['in hexadecimal', createHash('sha256').update(verifier).digest('hex')],
    ['with a line feed', `${challenge}\n`],
  ])('DG-11: a challenge that is %s: no dialog opens', async (_how, code_challenge) => {
    const application = await makeDialogApplication(service, wish)
    await expectNotOpened(application, { code_challenge, code_challenge_method: 'S256' })
  })

  it('DG-11: the challenge itself is not accepted as the verifier', async () => {
    const given = await givenCode(wish)
    await expectBurned(given, given.pkce.challenge)
  })
})

describe('a confidential application registered with default settings', () => {
  const wish = {}

  /** A dialog without a challenge. */
  async function withoutChallenge(): Promise<Given> {
    const application = await makeDialogApplication(service, wish)
    const user = await makeUser(service.context.db, service.account.slug)
    const { window } = await openQuestion(service, { application, user })
    const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    const code = left?.searchParams.get('code') ?? ''
    return { application, user, code, pkce: makePkce(), returned: left ?? new URL(CALLBACK) }
  }

  it('may omit the challenge, and exchanges without a verifier', async () => {
    const given = await withoutChallenge()
    expect((await exchangeWith(given, null)).status).toBe(200)
    await allSettled(service)
  })

  it.each([
    ['a verifier', verifier],
    ['an empty verifier', ''],
  ])('DG-11: %s without a challenge is refused: two requests were mixed up', async (_what, sent) => {
    const given = await withoutChallenge()
    expect(heard(await exchangeWith(given, sent))).toEqual(REFUSED)
    expect(await traceOf(service, given.application, given.user)).toEqual(BURNED)
    expect(heard(await exchangeWith(given, null))).toEqual(REFUSED)
  })

  it('DG-11: must send the verifier if it sent a challenge', async () => {
    await expectKept(await givenCode(wish))
  })

  it('DG-11: a challenge of another method, or an empty one, does not count as missing', async () => {
    const application = await makeDialogApplication(service, wish)
    await expectNotOpened(application, { code_challenge: challenge, code_challenge_method: 'plain' })
    await expectNotOpened(application, { code_challenge: challenge })
    await expectNotOpened(application, { code_challenge: '' })
    await expectNotOpened(application, { code_challenge_method: 'S256' })
  })
})

describe('guessing the verifier', () => {
  /** A challenge that would match this verifier if its syntax were allowed. */
  const fitting = (text: string) => ({
    code_challenge: createHash('sha256').update(text).digest('base64url'),
    code_challenge_method: 'S256',
  })

  it.each([
    ['of one character', 'a'],
    ['of 42 characters', 'a'.repeat(42)],
    ['of 129 characters', 'a'.repeat(129)],
    ['with a space', `${'a'.repeat(42)} `],
    ['with a plus', `${'a'.repeat(42)}+`],
    ['with a letter of another script', `${'a'.repeat(42)}é`],
    ['with a line feed', `${'a'.repeat(43)}\n`],
  ])('DG-12: a verifier %s is refused although its hash matches', async (_what, text) => {
    const given = await givenCode({}, fitting(text))
    expect(heard(await exchangeWith(given, text))).toEqual(REFUSED)
    expect(await traceOf(service, given.application, given.user)).toEqual(BURNED)
  })

  it.each(['a'.repeat(43), 'a'.repeat(128), `-._~${'Z9'.repeat(30)}`])(
    'takes what RFC 7636 allows: %s',
    async (text) => {
      const given = await givenCode({}, fitting(text))
      expect((await exchangeWith(given, text)).status).toBe(200)
    },
  )

  it(`DG-12: the first of ${figure(WRONG)} wrong verifiers invalidates the code; the others and the right one are refused`, async () => {
    const given = await givenCode()
    await expectBurned(given, makePkce().verifier)
    const before = await everyRow(service)
    const answers = new Set<string>()
    for (let round = 0; round < WRONG / 50; round += 1) {
      const wrong = Array.from({ length: 50 }, () => exchangeWith(given, makePkce().verifier))
      for (const answer of await Promise.all(wrong)) answers.add(heard(answer).join(' '))
    }
    expect([...answers]).toEqual([REFUSED.join(' ')])
    expect(await everyRow(service)).toEqual(before)
    expect(heard(await exchange(service, given.application, given))).toEqual(REFUSED)
  })

  it('DG-12: of 50 verifiers at the same moment, at most the right one succeeds', async () => {
    const given = await givenCode()
    const verifiers = Array.from({ length: 50 }, (_, at) => (at === 25 ? given.pkce.verifier : makePkce().verifier))
    const answers = await Promise.all(verifiers.map((each) => exchangeWith(given, each)))
    const right = answers[25]?.status === 200
    expect(answers.filter(({ status }) => status === 200).length).toBe(right ? 1 : 0)
    const { grants } = await traceOf(service, given.application, given.user)
    expect(grants).toEqual([right ? null : 'authorization_code_refused'])
  })
})
