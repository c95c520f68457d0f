/** A server of an attacker with crafted pages, under any host name that resolves to this machine. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An empty page that may be framed. Control: if it loads in a frame, the crafted page does open frames. */
export const FRAMEABLE = '/frameable'

export type CraftedPages = {
  readonly port: number
  /** From now on, every path but FRAMEABLE answers this page. */
  show(body: string): void
  stop(): Promise<void>
}

export async function startCraftedPages(): Promise<CraftedPages> {
  let shown = ''
  const server = createServer(({ url }, response) => {
    const body = url === FRAMEABLE ? '' : shown
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>Crafted</title>${body}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    show: (body) => {
      shown = body
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
