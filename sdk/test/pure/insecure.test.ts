/** Secrets and credentials are sent by https, or to this machine. */
import { describe, expect, test } from 'vitest'
import { failure } from '../rig/failure.ts'
import { importSdk } from '../rig/packed.ts'
import { json, KEY, scripted } from '../rig/scripted.ts'

const { createClient, createVerifier, memoryStore } = await importSdk()

const REMOTE = [
  'http://service.example',
  'http://10.0.0.1',
  'http://127.0.0.1.evil.example',
  'http://localhost.evil.example',
  'http://[::2]',
]
const ACCEPTED = ['https://service.example', 'http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:8080']
const invalid = expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining('https') })
const resource = { resourceId: 'app_one', resourceSecret: 'lks_one' }

describe('baseUrl', () => {
  test.each(REMOTE)('may not be %s', (baseUrl) => {
    expect(() => createClient({ baseUrl, appId: 'app_one' })).toThrow(invalid)
    expect(() => createVerifier({ baseUrl, ...resource })).toThrow(invalid)
  })

  test.each(ACCEPTED)('may be %s', (baseUrl) => {
    createClient({ baseUrl, appId: 'app_one' })
    createVerifier({ baseUrl, ...resource })
  })

  test.each(REMOTE)('may be %s if that is allowed explicitly', (baseUrl) => {
    createClient({ baseUrl, appId: 'app_one', allowInsecureRequests: true })
    createVerifier({ baseUrl, ...resource, allowInsecureRequests: true })
  })
})

describe('a request with the credential', () => {
  const holding = async (allowInsecureRequests?: boolean) => {
    const store = memoryStore()
    await store.write({ variant: 'access_key', accessKey: KEY, scope: [], state: '' })
    const service = scripted({ store, allowInsecureRequests })
    service.next(json(200, {}))
    return service
  }

  test.each(REMOTE)('is not sent to %s', async (address) => {
    const { asked, client } = await holding()
    expect(await failure(client.fetch(`${address}/orders`))).toEqual(invalid)
    expect(await failure(client.fetch(new Request(`${address}/orders`)))).toEqual(invalid)
    expect(asked).toEqual([])
  })

  test.each(ACCEPTED)('is sent to %s', async (address) => {
    const { client } = await holding()
    expect((await client.fetch(`${address}/orders`)).status).toBe(200)
  })

  test('is sent anywhere if that is allowed explicitly', async () => {
    const { client } = await holding(true)
    expect((await client.fetch('http://service.example/orders')).status).toBe(200)
  })
})
