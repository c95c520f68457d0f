/**
 * A television: shows a code and the address where to enter it, waits for the decision, and shows the outcome. This program
 * keeps the secret and communicates with the service; page.html is its screen and receives updates by Server-Sent Events.
 */
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { createClient, isLatchkeyError } from '@latchkey/sdk'
import { renderSVG } from 'uqr'

/** States of page.html. */
type Screen =
  | { readonly show: 'welcome' | 'rejected' | 'expired' }
  | {
      readonly show: 'code'
      readonly code: string
      readonly address: string
      readonly qr: string
      readonly secondsLeft: number
      readonly seconds: number
    }
  | { readonly show: 'connected'; readonly account: string; readonly scope: readonly string[] }
  | { readonly show: 'problem'; readonly message: string }

const baseUrl = process.env.LATCHKEY_BASE_URL ?? 'http://localhost:8080'
const port = Number(process.env.PORT ?? 4000)
const files: Record<string, readonly [name: string, type: string]> = {
  '/': ['page.html', 'text/html; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
}

// Credentials are kept in memory only. examples/kiosk stores them in a file.
const client = createClient({
  baseUrl,
  appId: process.env.LATCHKEY_APP_ID ?? '',
  appSecret: process.env.LATCHKEY_APP_SECRET,
  userAgent: 'Acme Television (living room)',
})

const screens = new Set<ServerResponse>()
let current = (): Screen => ({ show: 'welcome' })

function show(next: Screen | (() => Screen)): void {
  current = typeof next === 'function' ? next : () => next
  for (const screen of screens) draw(screen)
}

function draw(screen: ServerResponse): void {
  screen.write(`data: ${JSON.stringify(current())}\n\n`)
}

/** Requests a code only when the user presses the button. */
let connecting = false
async function connect(): Promise<void> {
  if (connecting) return
  connecting = true
  try {
    const session = await client.device.start({ variant: 'token_set', state: 'living-room' })
    const { displayCode: code, verificationUrl: address } = session
    const [qr, seconds] = [renderSVG(address, { border: 2 }), session.remaining()]
    show(() => ({ show: 'code', code, address, qr, seconds, secondsLeft: session.remaining() }))
    const { scope } = await session.wait()
    const me = await client.fetch(`${baseUrl}/1/me`)
    const { account } = (await me.json()) as { account: string }
    show({ show: 'connected', account, scope })
  } catch (error) {
    if (isLatchkeyError(error, 'auth_rejected')) show({ show: 'rejected' })
    else if (isLatchkeyError(error, 'code_expired')) show({ show: 'expired' })
    else show({ show: 'problem', message: (error as Error).message })
  } finally {
    connecting = false
  }
}

async function disconnect(): Promise<void> {
  await client.revoke()
  show({ show: 'welcome' })
}

const server = createServer((request, response) => {
  const { method, url = '/' } = request
  const [name, type] = files[url] ?? []
  if (name && type && method === 'GET') {
    response.writeHead(200, { 'content-type': type }).end(readFileSync(new URL(name, import.meta.url)))
  } else if (url === '/events' && method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    screens.add(response)
    response.once('close', () => screens.delete(response))
    draw(response)
  } else if ((url === '/connect' || url === '/disconnect') && method === 'POST') {
    // Rejects forms of other sites.
    if (request.headers['sec-fetch-site'] !== 'same-origin') return void response.writeHead(403).end()
    const work = url === '/connect' ? connect() : disconnect()
    work.catch((error: Error) => show({ show: 'problem', message: error.message }))
    response.writeHead(202).end()
  } else {
    response.writeHead(404).end()
  }
})
server.listen(port, '127.0.0.1', () => console.log(`The television is on: http://127.0.0.1:${port}`))
