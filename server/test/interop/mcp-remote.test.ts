/**
 * mcp-remote, unchanged from npm: a command-line tool that signs in through a loopback redirect, here to a resource that
 * names Latchkey as its authorization server (RFC 9728).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, get, type Server } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../tools/free-port.ts'
import { askMe } from '../rig/connect.ts'
import { makeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { decideDialog } from './person.ts'

const PROGRAM = join(dirname(createRequire(import.meta.url).resolve('mcp-remote/package.json')), 'dist', 'client.js')

/** A resource that accepts nobody without a credential, and reports the first one. */
async function startResource(service: TestService): Promise<{ readonly server: Server; readonly address: string }> {
  const server = createServer((request, response) => {
    const address = `http://${request.headers.host}`
    const metadata = `${address}/.well-known/oauth-protected-resource`
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      const body = { resource: `${address}/mcp`, authorization_servers: [service.config.publicUrl] }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      return
    }
    const { authorization } = request.headers
    if (authorization) server.emit('credential', authorization.replace('Bearer ', ''))
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (!address || typeof address === 'string') throw new Error('the resource has no port')
  return { server, address: `http://127.0.0.1:${address.port}/mcp` }
}

it('mcp-remote signs in through a port of localhost that is not registered', async () => {
  const service = await startTestService()
  onTestFinished(() => service.stop())
  const { context, config, account } = service
  const redirectUris = ['http://localhost/oauth/callback']
  const application = await makeApplication(context.db, config, account.slug, { public: true, redirectUris })
  await context.applications.refresh()
  const { server, address } = await startResource(service)
  onTestFinished(() => void server.close())
  const folder = await mkdtemp(join(tmpdir(), 'mcp-remote-'))
  onTestFinished(() => rm(folder, { recursive: true }))

  const asked = [
    '--allow-http',
    '--static-oauth-client-info',
    JSON.stringify({ client_id: application.id }),
    '--static-oauth-client-metadata',
    JSON.stringify({ scope: 'orders:read' }),
  ]
  const program = spawn(process.execPath, [PROGRAM, address, String(await freePort()), ...asked], {
    env: { HOME: folder, MCP_REMOTE_CONFIG_DIR: folder, PATH: folder },
  })
  onTestFinished(() => void program.kill())
  let printed = ''
  const credential = once(server, 'credential')
  const shown = new Promise<string>((resolve) => {
    const listen = (text: Buffer) => {
      printed += text
      const [found] = /http\S+\/oauth\/authorize\S+/.exec(printed) ?? []
      if (found) resolve(found)
    }
    program.stdout.on('data', listen)
    program.stderr.on('data', listen)
  })
  const ended = once(program, 'exit').then(() => Promise.reject(new Error(`mcp-remote ended: ${printed}`)))
  ended.catch(() => {})
  get(await decideDialog(service, await Promise.race([shown, ended])))
  const [token] = await Promise.race([credential, ended])
  expect(await askMe(service, token)).toMatchObject({
    status: 200,
    body: { application: application.id, user: service.user.id, scope: 'orders:read' },
  })
})
