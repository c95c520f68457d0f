/** Serves a folder under a path, as a plain web server does: the page of a folder is its index.html. */
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.txt': 'text/plain',
  '.wasm': 'application/wasm',
}

export type Served = { readonly address: string; close(): void }

export async function serveFolder(folder: string, below: string): Promise<Served> {
  const server = createServer(({ url = '' }, response) => {
    const path = decodeURI(new URL(url, 'http://localhost').pathname)
    const file = path.startsWith(below) ? fileAt(join(folder, path.slice(below.length))) : null
    if (file === null) return void response.writeHead(404).end()
    const type = TYPES[extname(file)] ?? 'application/octet-stream'
    response.writeHead(200, { 'content-type': type }).end(readFileSync(file))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { address: `http://127.0.0.1:${port}${below}`, close: () => server.close() }
}

function fileAt(path: string): string | null {
  const file = existsSync(path) && statSync(path).isDirectory() ? join(path, 'index.html') : path
  return existsSync(file) ? file : null
}
