/**
 * better-auth with its in-memory adapter and the plugin for the device flow: a pending poll, and the check of the token that
 * a device gets, which is a session token.
 */
import { createServer } from 'node:http'
import { betterAuth } from 'better-auth'
import { memoryAdapter } from 'better-auth/adapters/memory'
import { toNodeHandler } from 'better-auth/node'
import { bearer, deviceAuthorization } from 'better-auth/plugins'
import { ask, CODES, listen, tell } from './peer.js'

const JSON_TYPE = { 'content-type': 'application/json' }
const CLIENT = 'television'

let handle
const address = await listen(createServer((request, response) => handle(request, response)))
const auth = betterAuth({
  baseURL: address,
  secret: 'a'.repeat(43),
  database: memoryAdapter({ user: [], session: [], account: [], verification: [], deviceCode: [] }),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { disabled: true },
  // Without an interval, so that it does not answer slow_down.
  plugins: [deviceAuthorization({ interval: '0s', verificationUri: '/device' }), bearer()],
})
handle = toNodeHandler(auth)

const post = (path, fields) => {
  return ask(address + path, { headers: { ...JSON_TYPE, origin: address }, body: JSON.stringify(fields) })
}
const bodies = []
while (bodies.length < CODES) {
  const { device_code } = (await post('/api/auth/device/code', { client_id: CLIENT })).body
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  bodies.push(JSON.stringify({ grant_type, device_code, client_id: CLIENT }))
}
const person = { name: 'Ann', email: 'ann@example.com', password: 'a'.repeat(20) }
const { headers } = await post('/api/auth/sign-up/email', person)
tell({
  address,
  poll: { path: '/api/auth/device/token', headers: JSON_TYPE, bodies },
  verify: {
    method: 'GET',
    path: '/api/auth/get-session',
    headers: { authorization: `Bearer ${headers.get('set-auth-token')}` },
    body: '',
    shows: 'ann@example.com',
  },
})
