/**
 * Static server of a web application: two pages, two scripts and the client library. The application has no secret and is
 * registered as a public application.
 */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'

const port = Number(process.env.PORT ?? 4002)
const settings = {
  baseUrl: process.env.LATCHKEY_BASE_URL ?? 'http://localhost:8080',
  appId: process.env.LATCHKEY_PUBLIC_APP_ID ?? '',
  apiUrl: process.env.ORDERS_API_URL ?? 'http://127.0.0.1:4001',
}

const html = 'text/html; charset=utf-8'
const script = 'text/javascript; charset=utf-8'
const pages: Record<string, readonly [file: string, type: string]> = {
  '/': ['index.html', html],
  '/orders.js': ['orders.js', script],
  // The registered redirect URI.
  '/connected': ['connected.html', html],
  '/connected.js': ['connected.js', script],
}

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1')
  const page = pages[pathname]
  // A real application bundles the library; here its files are served, and the import maps of the pages refer to them.
  const library = /^\/sdk\/([\w/-]+\.js)$/.exec(pathname)?.[1]
  if (pathname === '/settings.json') {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(settings))
  } else if (page) {
    const [file, type] = page
    response.writeHead(200, { 'content-type': type }).end(await readFile(new URL(file, import.meta.url)))
  } else if (library) {
    const file = new URL(library, import.meta.resolve('@latchkey/sdk/browser'))
    const text = await readFile(file).catch(() => null)
    response.writeHead(text ? 200 : 404, { 'content-type': script }).end(text)
  } else {
    response.writeHead(404).end()
  }
})
server.listen(port, '127.0.0.1', () => console.log(`The web application is at http://127.0.0.1:${port}`))
