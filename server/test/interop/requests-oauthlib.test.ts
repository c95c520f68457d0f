/** requests-oauthlib, as packaged by Debian, with the standard dialect: a Python program uses it, a user here decides. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CALLBACK, type MadeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { METHODS, makeClient, makeResourceServer } from './clients.ts'
import { decideDevice, decideDialog } from './person.ts'

let service: TestService
let resourceServer: MadeApplication
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' })
  resourceServer = await makeResourceServer(service)
})
afterAll(() => service.stop())

const PROGRAM = new URL('requests-oauthlib-client.py', import.meta.url).pathname

/** Debian's Python, for which its packages are built. */
const PYTHON = '/usr/bin/python3'

type Line = {
  readonly dialog?: string
  readonly device?: { readonly verification_uri: string; readonly user_code: string }
  readonly revoked?: true
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  readonly done?: any
}

/** Runs the program, decides as its user, and returns its results. */
async function run(given: Record<string, unknown>) {
  const child = spawn(PYTHON, [PROGRAM], { env: { OAUTHLIB_INSECURE_TRANSPORT: '1' } })
  const exited = once(child, 'exit')
  const complaints = text(child.stderr)
  const answer = (value: unknown) => child.stdin.write(`${JSON.stringify(value)}\n`)
  answer(given)
  for await (const line of createInterface({ input: child.stdout })) {
    const said: Line = JSON.parse(line)
    if (said.done) return said.done
    if (said.dialog) answer(await decideDialog(service, said.dialog))
    if (said.device) answer(await decideDevice(service, said.device).then(() => null))
    if (said.revoked) answer(await service.context.grantCache.pull().then(() => null))
  }
  throw new Error(`the program ended with ${(await exited)[0]}: ${await complaints}`)
}

const SCOPE = ['orders:read', 'orders:write']

const TOKENS = {
  access_token: expect.stringMatching(/^lka_/),
  refresh_token: expect.stringMatching(/^lkr_/),
  token_type: 'Bearer',
  expires_in: 3600,
  scope: SCOPE,
}

describe.each(METHODS)('with %s', (method) => {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  let got: any
  let application: MadeApplication
  beforeAll(async () => {
    application = await makeClient(service, method)
    got = await run({
      method,
      issuer: service.config.publicUrl,
      client_id: application.id,
      client_secret: application.secret,
      redirect_uri: CALLBACK,
      scope: SCOPE,
      resource_server: [resourceServer.id, resourceServer.secret],
    })
  })

  it('a code is exchanged with PKCE for a valid token set', () => {
    expect(got.token).toMatchObject(TOKENS)
    expect(got.me).toMatchObject({ application: application.id, user: service.user.id, variant: 'token_set' })
  })

  it('a token set is refreshed on demand, and by the session itself when it has expired', () => {
    expect(got.refreshed).toMatchObject(TOKENS)
    expect(got.auto).toMatchObject({ status: 200, kept: [TOKENS] })
    const [first, second, third] = [got.token, got.refreshed, got.auto.kept[0]]
    expect(new Set([first.refresh_token, second.refresh_token, third.refresh_token]).size).toBe(3)
  })

  it('a token is active until it is revoked', () => {
    expect(got.before).toMatchObject({ active: true, client_id: application.id, scope: SCOPE.join(' ') })
    expect(got.revoked).toEqual([200, '{}'])
    expect(got.after).toEqual({ active: false })
  })

  it('a device polls until the user decides, and gets its token set', () => {
    const [asked, heard, token, me] = got.device
    expect(asked).toMatchObject({ verification_uri: `${service.config.publicUrl}/activate`, interval: 1 })
    expect(heard[0]).toBe('authorization_pending')
    expect(token).toMatchObject(TOKENS)
    expect(me).toMatchObject({ application: application.id, scope: SCOPE.join(',') })
  })
})
