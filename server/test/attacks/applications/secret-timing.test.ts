/**
 * AP-20: how long a refusal takes does not tell an unknown application from a known one, nor a secret that begins right from one that
 * does not. Method: rig/timing.ts.
 */
import { randomInt } from 'node:crypto'
import { Agent, request } from 'node:http'
import { afterAll, beforeAll, it } from 'vitest'
import { createApplicationSecret } from '../../../src/secrets/application-secret.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'
import { expectEqualTimes } from '../../rig/timing.ts'

const ROUNDS = sized(100_000, 1_500)

let service: TestService
let server: ServerProcess
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  server = await startServerProcess({ DATABASE_URL: service.database.url })
})
afterAll(async () => {
  agent.destroy()
  await server?.kill('SIGTERM')
  await service?.stop()
})

/** Microseconds until a poll with these credentials was refused. */
function time(SVCappid: string, SVCsecret: string): Promise<number> {
  const body = new URLSearchParams({ SVCappid, SVCsecret, device_code: 'lkd_none' }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(body.length) }
  return new Promise((resolve, reject) => {
    const begun = process.hrtime.bigint()
    const outgoing = request(
      `${server.address}/auth/oauth/device/polling`,
      { method: 'POST', agent, headers },
      (response) => {
        const micros = Number(process.hrtime.bigint() - begun) / 1_000
        response.resume().on('end', () => (response.statusCode === 400 ? resolve(micros) : reject(response.statusCode)))
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

it(`AP-20: ${figure(ROUNDS)} refusals each of an unknown application, a wrong secret and one that begins right take equally long`, async () => {
  const { id, secret } = service.application
  const unknown = () =>
    `app_${Array.from({ length: 12 }, () => 'abcdefghjkmnpqrstvwxyz0123456789'[randomInt(32)]).join('')}`
  const classes: Readonly<Record<string, () => readonly [string, string]>> = {
    'unknown application': () => [unknown(), createApplicationSecret()],
    'wrong secret': () => [id, createApplicationSecret()],
    'begins right': () => [id, secret.slice(0, 30) + createApplicationSecret().slice(30)],
  }
  await expectEqualTimes({ rounds: ROUNDS, warmUp: 300, longer: 1.5, classes, time: (sent) => time(...sent) })
}, 900_000)
