/** docs/interface.md, "Parameters", "Formats" and "Versions": which method, which paths, and where parameters may be. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post, type WireVariant } from '../rig/device.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const variants: WireVariant[] = ['oauth', 'key']
const paths = variants.flatMap((variant) =>
  ['code', 'polling'].flatMap((endpoint) =>
    ['', '/1'].flatMap((version) =>
      ['', '.xml'].map((extension) => `${version}/auth/${variant}/device/${endpoint}${extension}`),
    ),
  ),
)

describe.each(paths)('%s', (path) => {
  it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'])('must use POST: %s answers 405 and names POST', async (method) => {
    const { credentials } = service.device()
    const answer = await post(service.address, path, { query: credentials, method })
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST'])
    if (method === 'HEAD') return
    const type = path.endsWith('.xml') ? 'application/xml' : 'application/json'
    expect(answer.headers['content-type']).toBe(`${type}; charset=utf-8`)
    expect(answer.text).toContain('method_not_allowed')
  })
})

describe.each(variants)('in the %s variant', (variant) => {
  const base = `/auth/${variant}/device`

  it('variables may be in the query of the URI, in the form, or some in each', async () => {
    const { SVCappid, SVCsecret } = service.device(variant).credentials
    const ways = [
      { query: { SVCappid, SVCsecret, state: 'x' } },
      { form: { SVCappid, SVCsecret, state: 'x' } },
      { query: { SVCappid, state: 'x' }, form: { SVCsecret } },
    ]
    for (const way of ways) {
      const asked = await post(service.address, `${base}/code`, way)
      expect([asked.status, asked.body.state]).toEqual([200, 'x'])
      const polled = await post(service.address, `${base}/polling`, {
        query: { device_code: asked.body.device_code },
        form: { SVCappid, SVCsecret },
      })
      expect([polled.status, polled.body.error]).toEqual([400, 'auth_pending'])
    }
  })

  it('an extension other than .xml is not found', async () => {
    for (const extension of ['.XML', '.json', '.html']) {
      const answer = await post(service.address, `${base}/code${extension}`, { form: service.device().credentials })
      expect(answer.status).toBe(404)
    }
  })

  it('a poll that never becomes one keeps its own status: 413 for a large body, 415 for another content type', async () => {
    const { device_code } = await service.device(variant).code()
    const parameters = { ...service.device(variant).credentials, device_code }
    const json = await post(service.address, `${base}/polling`, {
      raw: JSON.stringify(parameters),
      headers: { 'content-type': 'application/json' },
    })
    expect([json.status, json.body.error]).toEqual([415, 'unsupported_media_type'])
    const large = await post(service.address, `${base}/polling`, {
      form: { ...parameters, padding: 'x'.repeat(20_000) },
    })
    expect([large.status, large.body.error]).toEqual([413, 'payload_too_large'])
    expect((await service.device(variant).poll(device_code)).body.error).toBe('auth_pending')
  })
})
