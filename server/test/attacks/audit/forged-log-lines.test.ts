/** AP-18: whatever a request holds, the log has one JSON line for each event, and nothing that the sender wrote. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post } from '../../rig/device.ts'
import { sendRaw } from '../../rig/network/raw-request.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let server: ServerProcess
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  server = await startServerProcess({
    DATABASE_URL: service.database.url,
    PUBLIC_URL: 'http://service.localhost',
    LOG_LEVEL: 'debug',
  })
})
afterAll(async () => {
  await server?.kill('SIGTERM')
  await service?.stop()
})

/** Would be an event of ours if a line break, or the end of a JSON text, got through. */
const LINE = '{"level":"info","event":"granted","grantId":"forged"}'
const TEXTS = [
  `\r\n${LINE}\r\n`,
  `\n${LINE}`,
  `\r${LINE}`,
  `\u2028${LINE}`,
  `\u0085${LINE}`,
  `","event":"forged","x":"`,
  `\\","event":"forged","x":"\\`,
  '\u001b[2Jforged\u001b[31m',
  '\u009b2Jforged',
  '\bforged\u0000',
]

const NAMES = ['SVCappid', 'SVCsecret', 'device_code', 'scope', 'state', 'grant_type', 'forged', 'client_id', 'token']
const PATHS = [
  '/auth/oauth/device/code',
  '/auth/key/device/polling.xml',
  '/oauth/token',
  '/oauth/authorize',
  '/nowhere',
]
const HEADERS = [
  ...['x-request-id', 'user-agent', 'referer', 'authorization', 'cookie', 'x-forwarded-for', 'accept-language'],
  ...['idempotency-key', 'content-type', 'traceparent', 'origin', 'x-forged'],
]

/** Lines that were written while this was sent; at least so many are waited for. */
async function linesOf(send: () => Promise<unknown>, fewest: number): Promise<readonly string[]> {
  const before = server.log().split('\n').length
  await send()
  const lines = () => server.log().split('\n').slice(before)
  await expect.poll(() => lines().length, { timeout: 30_000 }).toBeGreaterThanOrEqual(fewest)
  return lines()
}

function expectOnlyOurs(lines: readonly string[]): void {
  const read = lines.map((line): Record<string, unknown> => JSON.parse(line))
  expect(new Set(read.map(({ event }) => event))).toEqual(new Set(['answered']))
  const text = lines.join('\n')
  expect(text).not.toContain('forged')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/)
}

describe('AP-18: line breaks, terminal codes and quotes', () => {
  it('AP-18: in the name and in the value of any parameter, in the query and in the body, write no line', async () => {
    const lines = await linesOf(async () => {
      for (const path of PATHS) {
        for (const [at, text] of TEXTS.entries()) {
          await post(server.address, path, { form: Object.fromEntries([...NAMES, text].map((name) => [name, text])) })
          const name = NAMES[at % NAMES.length] ?? ''
          await post(server.address, path, { query: { [name]: text, [text]: 'x' }, method: at % 2 ? 'GET' : 'POST' })
        }
      }
    }, 100)
    expectOnlyOurs(lines)
    expect(lines).toHaveLength(100)
  })

  it('AP-18: in any header, in the path and in the host write no line', async () => {
    const send = (request: string, ...headers: string[]) =>
      sendRaw(server.address, [request, ...headers, 'Connection: close', 'Content-Length: 0'])
    const lines = await linesOf(async () => {
      for (const text of TEXTS) {
        // A line break would end the header; every other character is sent as it is.
        const value = Buffer.from(text.replaceAll(/[\r\n\0]/g, '')).toString('latin1')
        for (const name of HEADERS) {
          await send('POST /auth/oauth/device/code HTTP/1.1', 'Host: service.localhost', `${name}: ${value}`)
        }
        await send(`GET /${encodeURIComponent(text)} HTTP/1.1`, 'Host: service.localhost')
        await send(`POST /auth/${encodeURIComponent(text)}/device/code HTTP/1.1`, 'Host: service.localhost')
        await send('GET /sign-in HTTP/1.1', `Host: ${value.replaceAll(/[^!-~]/g, '')}.service.localhost`)
      }
      // Node's parser refuses terminal codes in a header: those never become a request.
    }, 110)
    expectOnlyOurs(lines)
    expect(lines.length).toBeLessThanOrEqual(TEXTS.length * (HEADERS.length + 3))
  })
})
