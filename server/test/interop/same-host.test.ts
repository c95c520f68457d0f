/** Latchkey and the host service on the same hosts behind a real nginx, divided by path (deploy/nginx/same-host.conf). */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { manageEndpoints } from '../../src/http/manage/routes.ts'
import { pathsOf } from '../../src/http/route.ts'
import { routes } from '../../src/http/routes.ts'
import { pageRoutes } from '../../src/http/web/account-routes.ts'
import { SESSION } from '../../src/http/web/cookies.ts'
import { stylesheet } from '../../src/pages/ui/assets.ts'
import {
  claimsFor,
  makeHost,
  readSignInRequest,
  returnPath,
  signStatement,
  type TestHost,
} from '../rig/host-service.ts'
import { spawnTied } from '../rig/process/tied-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { Web } from '../rig/web.ts'
import { accepting } from './accepting.ts'

const NGINX = new URL('../../../deploy/nginx/', import.meta.url)

const stops: (() => unknown)[] = []
let host: TestHost
let service: TestService
let listen = ''
/** Of requests that reached the host service. */
let reached: { readonly url: string; readonly cookie: string }[] = []

beforeAll(async () => {
  const own = createServer((request, response) => {
    reached.push({ url: request.url ?? '', cookie: request.headers.cookie ?? '' })
    response.writeHead(200, { 'set-cookie': 'own-session=of-the-service; Path=/; HttpOnly' }).end('from the service')
  }).listen(0, '127.0.0.1')
  await once(own, 'listening')
  stops.push(() => own.close())
  listen = `127.0.0.1:${await freePort()}`
  host = await makeHost()
  const port = listen.split(':')[1]
  const settings = { PUBLIC_URL: `http://localhost:${port}`, SIGN_IN_CREATES: 'users' }
  service = await startTestService({ ...host.environment, ...settings })
  await startNginx(new URL(service.address).host, `127.0.0.1:${(own.address() as AddressInfo).port}`)
})
afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
  await service?.stop()
  host?.remove()
})

async function startNginx(latchkey: string, own: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-same-host-'))
  const parts = readFileSync(new URL('same-host.conf', NGINX), 'utf8')
    .replace('127.0.0.1:8080', latchkey)
    .replace('127.0.0.1:9000', own)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`)
  // The part that remains of latchkey.conf.
  const limits = /^map .*^limit_req_zone .*?$/ms.exec(readFileSync(new URL('latchkey.conf', NGINX), 'utf8'))?.[0]
  const surroundings = `${limits} ${paths.join(' ')} access_log off; server { listen ${listen}; ${parts} }`
  writeFileSync(join(folder, 'nginx.conf'), `pid nginx.pid; worker_processes 1; events {} http { ${surroundings} }`)
  const args = ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log']
  await promisify(execFile)('/usr/sbin/nginx', [...args, '-t'])
  const child = spawnTied('TERM', '/usr/sbin/nginx', [...args, '-g', 'daemon off;'], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  stops.push(async () => {
    child.kill('SIGTERM')
    await exited
    removeFolder(folder)
  })
  await accepting(listen)
}

/** A browser at the account's host, through nginx. */
const browser = () => new Web(`http://${listen}`, `${service.account.slug}.localhost:${listen.split(':')[1]}`)

test('every path of Latchkey but the start page and the host’s own statements reaches it, and every other the service', async () => {
  const web = browser()
  const endpoints = [...routes, ...manageEndpoints]
  const paths = [...pageRoutes.map(({ path }) => path), ...endpoints.flatMap(pathsOf), stylesheet.path]
  reached = []
  for (const path of new Set(paths)) await web.send('GET', path)
  expect(reached.map(({ url }) => url).toSorted()).toEqual([
    '/',
    '/.well-known/change-password',
    '/.well-known/security.txt',
  ])
  for (const path of [
    '/latchkey/sign-in',
    '/orders',
    '/signing-in',
    '/accounting',
    '/.well-known/jwks.json',
    '/1000',
  ]) {
    expect([path, (await web.send('GET', path)).text]).toEqual([path, 'from the service'])
  }
})

test('a user signs in through the hand-over, beside the session of the service', async () => {
  const web = browser()
  await web.send('GET', '/')
  const request = readSignInRequest((await web.send('GET', '/sign-in?next=%2Fconnect%2Fcode')).location)
  expect(request.returnTo.origin).toBe(web.origin)
  const statement = await signStatement(host.key, await claimsFor(service, request))
  const page = await web.send('GET', returnPath(request, statement))
  expect([page.status, page.location]).toEqual([303, '/connect/code'])
  expect((await web.get('/connect/code')).status).toBe(200)
  expect([...web.cookies.keys()].sort()).toEqual(['__Host-browser', '__Host-dialog', SESSION, 'own-session'])
  await web.get('/security')
  expect((await web.submit('/sign-out')).status).toBe(200)
  expect([web.cookies.has(SESSION), web.cookies.has('own-session')]).toEqual([false, true])
})
