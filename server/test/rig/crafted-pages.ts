/** A server of an attacker with crafted pages, under any host name that resolves to this machine. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type CraftedPages = {
  readonly port: number
  /** From now on, every path answers this page. */
  show(body: string): void
  stop(): Promise<void>
}

export async function startCraftedPages(): Promise<CraftedPages> {
  let shown = ''
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>Crafted</title>${shown}`)
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
