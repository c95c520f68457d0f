/**
 * An application with a web site that uses only the packed library: a page that opens the dialog, a callback
 * page, and, for an application with a secret, a server that exchanges the code.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type MadeApplication, makeApplication } from '../../../server/test/rig/make.ts'
import type { Northwind } from '../../../server/test/rig/scenes/northwind.ts'
import { bundle } from './bundle.ts'
import { importSdk } from './packed.ts'

export type DialogSite = MadeApplication & {
  readonly origin: string
  readonly callback: string
  /** Exchanges made by its server. */
  readonly exchanged: readonly string[]
  /** Headers of every page from now on. */
  headers: Record<string, string>
  stop(): Promise<void>
}

const SCOPES = ['orders:read', 'orders:write', 'displays:write']

const PAGE = (
  about: string,
  script: string,
) => `<!doctype html><html lang="en"><title>Parcel Desk</title><h1>Parcel Desk</h1>
<button id="popup">Connect</button> <button id="ready">Connect in a window that is open already</button>
<button id="here">Connect here</button> <button id="auto">Connect somehow</button> <button id="server">Connect by the server</button>
<output></output>
<script type="module">
import { createClient, isLatchkeyError, memoryStore, sessionStorageStore } from '/sdk.js'
const { baseUrl, appId, redirectUri } = ${about}
const say = (text) => { document.querySelector('output').textContent = text }
// A browser may deny storage to a page in a frame of another site.
const client = createClient({ baseUrl, appId, store: self === top ? sessionStorageStore() : memoryStore() })
const told = (set) => 'connected for ' + set.scope.join(',')
const fail = (error) => { globalThis.failure = error; say(isLatchkeyError(error) ? error.code : error.name === 'AbortError' ? 'aborted' : 'a bug: ' + error) }
const open = (options = {}) => client.dialog.open({ redirectUri, ...options }).then((set) => say(told(set))).catch(fail)
Object.assign(globalThis, { client, openDialog: open, createClient })
${script}
</script>`

const OPENING = `
const on = (id, act) => { document.querySelector(id).onclick = act }
on('#popup', () => open())
on('#ready', async () => {
  const window = globalThis.open('', 'ready', 'popup')
  await new Promise((resolve) => setTimeout(resolve, 200))
  open({ window })
})
on('#here', () => open({ mode: 'redirect' }))
on('#auto', () => open({ mode: 'auto' }))
on('#server', () => client.dialog.open({ redirectUri, exchange: 'server' }).then(async (code) => {
  const answer = await fetch('/exchange', { method: 'POST', body: JSON.stringify(code) })
  say(await answer.text())
}).catch(fail))
say('ready')`

const RETURNING = `
client.dialog.complete().then((completion) => {
  globalThis.completed = completion
  say(completion.outcome === 'completed' ? told(completion.result) : completion.outcome)
}).catch(fail)`

export async function startDialogSite(
  { service, slug }: Northwind,
  given: Parameters<typeof makeApplication>[3],
): Promise<DialogSite> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const callback = `${origin}/callback`
  const { context, config } = service
  const wish = { deviceFlow: false, allowedScopes: SCOPES, defaultScopes: SCOPES, redirectUris: [callback], ...given }
  const application = await makeApplication(context.db, config, slug, wish)
  await context.applications.refresh()

  const { text: library } = await bundle("export * from '@latchkey/sdk/browser'")
  const { createClient } = await importSdk()
  const about = JSON.stringify({ baseUrl: config.publicUrl, appId: application.id, redirectUri: callback })
  const exchanged: string[] = []
  const site: DialogSite = {
    ...application,
    origin,
    callback,
    exchanged,
    headers: {},
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  const show = (response: ServerResponse, type: string, body: string) =>
    response
      .writeHead(200, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store', ...site.headers })
      .end(body)

  /** A client for this user, with one token set. */
  async function exchange(body: string): Promise<string> {
    // A browser may deny storage to a page in a frame of another site.
    const client = createClient({ baseUrl: config.publicUrl, appId: application.id, appSecret: application.secret })
    const set = await client.dialog.exchange(JSON.parse(body))
    exchanged.push(await client.bearer())
    return `connected for ${set.scope.join(',')} by the server`
  }

  server.on('request', async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', origin)
    let body = ''
    for await (const chunk of request) body += chunk
    if (pathname === '/') show(response, 'text/html', PAGE(about, OPENING))
    else if (pathname === '/callback') show(response, 'text/html', PAGE(about, RETURNING))
    else if (pathname === '/frame') show(response, 'text/html', `<iframe src="${searchParams.get('of')}"></iframe>`)
    else if (pathname === '/sdk.js') show(response, 'text/javascript', library)
    else if (pathname === '/exchange') show(response, 'text/plain', await exchange(body).catch(({ code }) => code))
    else response.writeHead(204).end()
  })
  return site
}
