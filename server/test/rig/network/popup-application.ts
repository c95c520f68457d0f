/**
 * An application with a web site on an origin of its own that opens the dialog as documented: in a popup, from a click, with PKCE and
 * `state`, and with the answer from its own callback page. The public one does everything in the browser; the confidential
 * one keeps its secret on its server. docs/interface/dialog.md.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makePkce } from '../dialog.ts'
import type { MadeApplication } from '../make.ts'

export type PopupApplication = MadeApplication & {
  readonly origin: string
  readonly callback: string
  /** Answers of /1/me to its server, with the tokens it received. */
  readonly knows: readonly Record<string, string>[]
  stop(): Promise<void>
}

type Site = {
  readonly issuer: string
  readonly application: MadeApplication
  readonly callback: string
  readonly knows: Record<string, string>[]
  /** By `state`: the browser that started, and its code verifier. */
  readonly attempts: Map<string, { readonly browser: string; readonly verifier: string }>
}

type Pages = Readonly<Record<string, (site: Site, request: IncomingMessage, response: ServerResponse) => unknown>>

/** The page of the application: one line shows its status. */
const page = (body: string, script: string) =>
  `<!doctype html><html lang="en"><title>Parcel Desk</title><h1>Parcel Desk</h1>${body}<output></output>
  <script type="module">const say = (text) => { document.querySelector('output').textContent = text }\n${script}</script>`

/** Until the answer arrives, the popup is open or was closed by the user. A message may still be on its way then. */
const WATCH = `
globalThis.noticed = []
globalThis.watch = (popup, settle) => {
  globalThis.popup = popup
  let settled = false
  const look = setInterval(() => {
    if (!popup.closed) return
    clearInterval(look)
    setTimeout(() => { if (!settled) { noticed.push('closed'); say('the window was closed') } }, 300)
  }, 20)
  addEventListener('message', (event) => {
    if (event.origin !== location.origin || event.source !== popup) return
    settled = true
    noticed.push('answered')
    settle(event.data)
  })
}
const FEATURES = 'popup,width=480,height=640'`

const PUBLIC = `
const encode = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=/g, '')
const random = () => encode(crypto.getRandomValues(new Uint8Array(32)))
export async function prepare({ issuer, clientId, redirectUri }) {
  const [state, verifier] = [random(), random()]
  const challenge = encode(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)))
  const query = new URLSearchParams({ client_id: clientId, response_type: 'code', redirect_uri: redirectUri,
    state, code_challenge: challenge, code_challenge_method: 'S256' })
  return { state, verifier, address: issuer + '/1/auth/oauth/authorize?' + query }
}
export async function finish({ issuer, clientId, redirectUri }, attempt, answer) {
  if (answer.state !== attempt?.state || answer.iss !== issuer) return 'this answer is not ours'
  if (answer.error) return 'not connected: ' + answer.error
  const body = new URLSearchParams({ SVCappid: clientId, code: answer.code, redirect_uri: redirectUri, code_verifier: attempt.verifier })
  const response = await fetch(issuer + '/auth/oauth/token', { method: 'POST', body })
  globalThis.tokens = await response.json()
  return response.ok ? 'connected for ' + tokens.scope : 'not connected: ' + tokens.error
}`

/** Public: no secret, all in the browser. */
const publicPages: Pages = {
  '/': (site, _, response) =>
    html(
      response,
      '<button id="popup" disabled>Connect</button> <button id="form" disabled>Connect by a form</button> <button id="here" disabled>Connect in this window</button>',
      `import { prepare, finish } from '/application.js'
      ${WATCH}
      const about = ${told(site)}
      const attempt = await prepare(about)
      const settle = async (answer) => say(await finish(about, attempt, answer))
      document.querySelector('#popup').onclick = () => watch(open(attempt.address, 'dialog', FEATURES), settle)
      document.querySelector('#form').onclick = () => {
        watch(open('', 'dialog', FEATURES), settle)
        const { origin, pathname, searchParams } = new URL(attempt.address)
        const form = Object.assign(document.createElement('form'), { method: 'post', action: origin + pathname, target: 'dialog' })
        for (const [name, value] of searchParams) form.append(Object.assign(document.createElement('input'), { name, value }))
        document.body.append(form)
        form.submit()
      }
      document.querySelector('#here').onclick = () => {
        sessionStorage.attempt = JSON.stringify(attempt)
        location.assign(attempt.address)
      }
      for (const button of document.querySelectorAll('button')) button.disabled = false`,
    ),
  '/application.js': (_, __, response) => response.writeHead(200, { 'content-type': 'text/javascript' }).end(PUBLIC),
  '/callback': (site, _, response) =>
    html(
      response,
      '',
      `import { finish } from '/application.js'
      const answer = Object.fromEntries(new URLSearchParams(location.search))
      history.replaceState(null, '', location.pathname)
      if (opener) { opener.postMessage(answer, location.origin); close() }
      else say(await finish(${told(site)}, JSON.parse(sessionStorage.attempt ?? 'null'), answer))`,
    ),
}

/** Confidential: the browser only carries a session cookie of the application; works without a script as well. */
const serverPages: Pages = {
  '/': (_, __, response) =>
    html(
      response,
      '<button id="popup" disabled>Connect</button> <a id="here" href="/connect">Connect in this window</a>',
      `${WATCH}
      document.querySelector('#popup').onclick = () => watch(open('/connect', 'dialog', FEATURES), say)
      document.querySelector('#popup').disabled = false`,
    ),
  '/connect': (site, _, response) => {
    const [state, browser] = [randomBytes(16).toString('base64url'), randomBytes(16).toString('base64url')]
    const { verifier, challenge } = makePkce()
    site.attempts.set(state, { browser, verifier })
    const query = new URLSearchParams({
      client_id: site.application.id,
      response_type: 'code',
      redirect_uri: site.callback,
      state,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const cookie = `till=${browser}; Path=/; HttpOnly; SameSite=Lax`
    response.writeHead(303, { location: `${site.issuer}/oauth/authorize?${query}`, 'set-cookie': cookie }).end()
  },
  '/callback': async (site, request, response) => {
    const text = await finishOnServer(site, request)
    const tell = `if (opener) { opener.postMessage(${JSON.stringify(text)}, location.origin); close() }`
    html(response, `<p id="outcome">${text}</p>`, tell)
  },
}

async function finishOnServer(site: Site, { url = '', headers }: IncomingMessage): Promise<string> {
  const answer = new URL(url, site.callback).searchParams
  const state = answer.get('state') ?? ''
  const attempt = site.attempts.get(state)
  site.attempts.delete(state)
  const isOurs = attempt !== undefined && headers.cookie?.includes(`till=${attempt.browser}`)
  if (!isOurs || answer.get('iss') !== site.issuer) return 'this answer is not ours'
  if (answer.has('error')) return `not connected: ${answer.get('error')}`
  const { id, secret } = site.application
  const exchanged = await fetch(`${site.issuer}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: answer.get('code') ?? '',
      redirect_uri: site.callback,
      code_verifier: attempt.verifier,
    }),
  })
  const tokens = (await exchanged.json()) as Record<string, string>
  if (!exchanged.ok) return `not connected: ${tokens.error}`
  const authorization = `Bearer ${tokens.access_token}`
  const me = await fetch(`${site.issuer}/1/me`, { headers: { authorization } })
  site.knows.push((await me.json()) as Record<string, string>)
  return `connected for ${tokens.scope}`
}

function told({ issuer, application, callback }: Site): string {
  return JSON.stringify({ issuer, clientId: application.id, redirectUri: callback })
}

function html(response: ServerResponse, body: string, script: string): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
  response.end(page(body, script))
}

/** `register` receives the redirect URI. The issuer is the service's own address. */
export async function startPopupApplication(
  issuer: string,
  register: (callback: string) => Promise<MadeApplication>,
): Promise<PopupApplication> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const callback = `${origin}/callback`
  const application = await register(callback)
  const site: Site = { issuer, application, callback, knows: [], attempts: new Map() }
  const pages = application.secret === '' ? publicPages : serverPages
  server.on('request', (request, response) => {
    const show = pages[new URL(request.url ?? '/', origin).pathname]
    if (show) void show(site, request, response)
    else response.writeHead(404).end()
  })
  return {
    ...application,
    origin,
    callback,
    knows: site.knows,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
