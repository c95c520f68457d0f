/** oidc-provider with its in-memory adapter: a pending poll, and introspection (RFC 7662) of an access token. */
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'
import { ask, CODES, listen, tell } from './peer.js'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const client = { client_id: 'television', client_secret: 'a'.repeat(43) }

let handle
const address = await listen(createServer((request, response) => handle(request, response)))
const provider = new Provider(address, {
  clients: [
    {
      ...client,
      grant_types: [DEVICE_GRANT, 'client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  features: {
    deviceFlow: { enabled: true },
    introspection: { enabled: true },
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
  },
})
handle = provider.callback()

const post = async (path, fields) => {
  return (await ask(address + path, { headers: FORM, body: new URLSearchParams({ ...client, ...fields }) })).body
}
const bodies = []
while (bodies.length < CODES) {
  const { device_code } = await post('/device/auth', { scope: 'openid' })
  bodies.push(`${new URLSearchParams({ ...client, grant_type: DEVICE_GRANT, device_code })}`)
}
const { access_token: token } = await post('/token', { grant_type: 'client_credentials' })
tell({
  address,
  poll: { path: '/token', headers: FORM, bodies },
  verify: {
    method: 'POST',
    path: '/token/introspection',
    headers: FORM,
    body: `${new URLSearchParams({ ...client, token })}`,
    shows: 'active":true',
  },
})
