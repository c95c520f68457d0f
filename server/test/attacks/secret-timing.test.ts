/**
 * AP-20: how long a refusal takes does not tell an unknown application from a known one, nor a secret that begins right from one that
 * does not.
 *
 * Method: requests one after the other on one connection, in rounds; each round has one of every class, in random order, so that
 * whatever else the machine does slows all classes alike. Times above the 80th percentile of all classes together are left out, and
 * Welch's t is computed for each pair of classes. |t| < 4.5 passes, as usual for tests of timing leaks: with equal means, one
 * comparison in 150,000 is above. A round's requests are made before it, so that no class is sent after a longer pause. The same samples with a delay added to one class have to fail.
 */
import { randomInt } from 'node:crypto'
import { Agent, request } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createApplicationSecret } from '../../src/secrets/application-secret.ts'
import { type ServerProcess, startServerProcess } from '../rig/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { figure, sized } from '../rig/size.ts'

const ROUNDS = sized(100_000, 1_500)
const WARM_UP = 300
const THRESHOLD = 4.5
const KEPT = 0.8
/** A delay that has to be seen even on a busy machine. */
const LONGER = 1.5

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

type Summary = { readonly count: number; readonly mean: number; readonly variance: number }

function summarize(values: readonly number[]): Summary {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
  return { count: values.length, mean, variance }
}

const errorOf = (a: Summary, b: Summary) => Math.sqrt(a.variance / a.count + b.variance / b.count)

function welch(first: readonly number[], second: readonly number[]): number {
  const limit = [...first, ...second].sort((a, b) => a - b)[Math.floor((first.length + second.length) * KEPT)] ?? 0
  const [a, b] = [first, second].map((values) => summarize(values.filter((value) => value <= limit)))
  return a && b ? (a.mean - b.mean) / errorOf(a, b) : Number.NaN
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
  const samples = new Map(Object.keys(classes).map((name) => [name, [] as number[]]))
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const order = Object.entries(classes)
      .map(([name, make]) => ({ name, sent: make(), at: randomInt(1_000_000) }))
      .sort((a, b) => a.at - b.at)
    for (const { name, sent } of order) {
      const micros = await time(...sent)
      if (round >= 0) samples.get(name)?.push(micros)
    }
  }
  const names = [...samples.keys()]
  const pairs = names.flatMap((a, at) => names.slice(at + 1).map((b) => [a, b] as const))
  const found = pairs.map(([a, b]) => {
    const [first, second] = [samples.get(a) ?? [], samples.get(b) ?? []]
    return { a, b, t: welch(first, second), slower: first.map((value) => value * LONGER), second }
  })
  console.log(found.map(({ a, b, t }) => `${a} / ${b}: t = ${t.toFixed(2)}`).join('\n'))
  for (const { a, b, t, slower, second } of found) {
    expect([a, b, Math.abs(t) < THRESHOLD]).toEqual([a, b, true])
    expect(Math.abs(welch(slower, second)), 'a leak would be seen').toBeGreaterThan(THRESHOLD)
  }
})
