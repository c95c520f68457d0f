/** A rolling restart: SIGTERM under load, and no request fails. */
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Device, post } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { makeUser } from '../../rig/make.ts'
import { LONG_TIMEOUTS, type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { digestOf } from '../../rig/witness.ts'

let service: TestService
const environment = () => ({
  DATABASE_URL: service.database.url,
  REDIS_URL: engineUrl('REDIS_URL'),
  DRAIN_SECONDS: '2',
})
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') })
})
afterAll(() => service.stop())

const MAX_ROUNDS = 6

it.concurrent('F31: processes are replaced one after the other under load: every poll, code request, delivery and refresh is answered, and nothing is lost', async () => {
  // Without shedding and time limits of a busy machine: those are other tests' subject.
  const start = () => startServerProcess({ ...environment(), OVERLOAD_DELAY: '0' }, { preload: LONG_TIMEOUTS })
  const servers = await Promise.all([start(), start()])
  const balancer = balance(servers)
  const counted: Record<Kind, { answered: number; whileDraining: number }> = {
    poll: { answered: 0, whileDraining: 0 },
    code: { answered: 0, whileDraining: 0 },
    delivery: { answered: 0, whileDraining: 0 },
    refresh: { answered: 0, whileDraining: 0 },
  }
  const failures: string[] = []
  let done = false
  const inLoop = (count: number, work: (send: Send, lane: number) => Promise<void>) =>
    Array.from({ length: count }, async (_, lane) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const send: Send = async (kind, wanted, form) => {
        const answer = await sendOnce(agent, `${balancer.pick()}${PATHS[kind]}`, {
          ...service.device().credentials,
          ...form,
        })
        if (answer.status !== wanted) throw new Error(`${kind}: ${answer.status} ${JSON.stringify(answer.body)}`)
        counted[kind].answered += 1
        if (answer.draining) counted[kind].whileDraining += 1
        return answer.body
      }
      while (!done) {
        await work(send, lane).catch((error: Error) => failures.push(error.message))
        await sleep(5)
      }
      agent.destroy()
    })

  const { device_code } = await service.device().code()
  const renewals = new Map<string, number>()
  const waiting = inLoop(10, async (send) => void (await send('poll', 400, { device_code })))
  // One user each: grants of one user wait for each other.
  const users = await Promise.all(Array.from({ length: 10 }, () => makeUser(service.context.db, service.account.slug)))
  const granted = inLoop(users.length, async (send, lane) => {
    const code = await send('code', 200, {})
    const outcome = await service.grant(code.user_code, users[lane])
    if (outcome !== 'granted') throw new Error(`the grant was ${outcome}`)
    let { refresh_token } = await send('delivery', 200, { device_code: code.device_code })
    renewals.set(code.user_code, 0)
    for (let step = 1; step <= 3; step += 1) {
      ;({ refresh_token } = await send('refresh', 200, { refresh_token }))
      renewals.set(code.user_code, step)
    }
  })

  await sleep(500)
  // A process drains for a tenth of a second before the balancer notices: some kinds need a few rounds to meet one.
  const met = () => Object.values(counted).every(({ whileDraining }) => whileDraining > 0)
  for (let round = 1; round === 1 || (round <= MAX_ROUNDS && !met()); round += 1) {
    for (const [index, old] of servers.entries()) {
      const replacement = await start()
      balancer.add(replacement)
      await old.kill('SIGTERM')
      servers[index] = replacement
      await sleep(300)
    }
  }
  done = true
  await Promise.all([...waiting, ...granted])
  balancer.stop()
  await Promise.all(servers.map((server) => server.kill('SIGTERM')))

  expect([...new Set(failures)]).toEqual([])
  for (const [kind, { answered, whileDraining }] of Object.entries(counted)) {
    expect(answered, kind).toBeGreaterThan(20)
    expect(whileDraining, `${kind}, by a process that was told to stop`).toBeGreaterThan(0)
  }
  const rows = await service.database.query<{ digest: Buffer; status: string; generation: number }>(
    'select d.user_code_digest as digest, d.status, g.generation from device_codes d join grants g on g.device_code_id = d.id where g.user_id = any($1)',
    [users.map(({ id }) => id)],
  )
  const left = rows.map(({ digest, status, generation }) => [digest.toString('hex'), status, generation])
  const expected = [...renewals].map(([userCode, steps]) => [
    digestOf(service, userCode)?.toString('hex'),
    'used',
    steps + 1,
  ])
  expect(left.sort()).toEqual(expected.sort())
}, 180_000)

it.concurrent('answers on kept connections carry Connection: close while draining, and /health/ready answers 503', async () => {
  const server = await startServerProcess(environment())
  expect((await post(server.address, '/health/ready', { method: 'GET' })).body).toEqual({ status: 'ready', gate: 'up' })
  const stopping = server.kill('SIGTERM')
  await sleep(200)
  const ready = await post(server.address, '/health/ready', { method: 'GET' })
  expect([ready.status, ready.headers.connection]).toEqual([503, 'close'])
  expect((await post(server.address, '/health/live', { method: 'GET' })).status).toBe(200)
  await stopping
  expect(server.log()).toContain('"event":"stopped"')
})

it.concurrent('F32: a client that stalls within its request does not keep the process from ending', async () => {
  const server = await startServerProcess({ ...environment(), DRAIN_SECONDS: '0' })
  const { hostname, port } = new URL(server.address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const head = 'POST /auth/oauth/device/code HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n'
  socket.write(`${head}content-length: 100\r\n\r\nS`)
  await sleep(200)
  await server.kill('SIGTERM')
  expect(server.log()).toContain('"event":"stopped"')
})

it.concurrent.each([
  {
    slow: 'take a second in PostgreSQL',
    statement:
      "create function {slow}() returns trigger language plpgsql as $$ begin perform pg_sleep(1); return new; end $$; create trigger {slow} before insert on device_codes for each row when (new.state = '{slow}') execute function {slow}()",
    answers: '200',
  },
  {
    slow: 'are refused by PostgreSQL after a second',
    statement:
      "create function {slow}() returns trigger language plpgsql as $$ begin perform pg_sleep(1); raise exception using errcode = $x$53100$x$; end $$; create trigger {slow} before insert on device_codes for each row when (new.state = '{slow}') execute function {slow}()",
    answers: '503 unavailable',
  },
])(
  'F32: SIGTERM while requests $slow: each is answered in full, $answers, and so is a poll that is held',
  async ({ statement, answers }) => {
    const state = `slow_${answers.slice(0, 3)}`
    await service.database.query(statement.replaceAll('{slow}', state))
    const server = await startServerProcess({ ...environment(), DRAIN_SECONDS: '0' })
    const device = new Device(server.address, service.application)
    const { device_code } = await device.code()
    const held = device.poll(device_code, { prefer: 'wait=20' })
    const asked = Array.from({ length: 4 }, () => device.request({ state }))
    await sleep(500)
    await server.kill('SIGTERM')
    const said = await Promise.all(asked)
    expect(said.map(({ status, body }) => (body.error ? `${status} ${body.error}` : `${status}`))).toEqual(
      said.map(() => answers),
    )
    expect((await held).body.error).toBe('auth_pending')
    expect(server.log()).toContain('"event":"stopped"')
  },
)

it.concurrent('F48: an idle connection is kept for longer than by usual balancers', async () => {
  const server = await startServerProcess(environment())
  const answer = await post(server.address, '/health/live', { method: 'GET' })
  expect(Number(/timeout=(\d+)/.exec(String(answer.headers['keep-alive']))?.[1])).toBeGreaterThan(65)
  await server.kill('SIGTERM')
})

/** A balancer: checks readiness often, sends requests round robin to ready processes. */
function balance(initial: readonly ServerProcess[]) {
  let all = [...initial]
  let ready = [...initial]
  let turn = 0
  const timer = setInterval(async () => {
    const asked = all
    const answers = await Promise.all(
      asked.map((server) => post(server.address, '/health/ready', { method: 'GET' }).catch(() => null)),
    )
    const leaving = asked.filter((_, index) => answers[index]?.status !== 200)
    // A process added meanwhile was not checked yet: it stays, and gets requests once ready.
    all = all.filter((server) => !leaving.includes(server))
    ready = all.filter((server) => asked.includes(server))
  }, 100)
  return {
    pick: () => {
      turn += 1
      return ready[turn % ready.length]?.address ?? ''
    },
    add: (server: ServerProcess) => {
      all = [...all, server]
    },
    stop: () => clearInterval(timer),
  }
}

type Kind = 'poll' | 'code' | 'delivery' | 'refresh'

const PATHS: Readonly<Record<Kind, string>> = {
  poll: '/auth/oauth/device/polling',
  code: '/auth/oauth/device/code',
  delivery: '/auth/oauth/device/polling',
  refresh: '/auth/oauth/refresh',
}

/** Throws unless the answer has the status that is wanted. */
type Send = (kind: Kind, wanted: number, form: Record<string, string>) => Promise<Body>

/** Of a code request, a delivery or a refresh, what this file looks at. */
type Body = { readonly device_code: string; readonly user_code: string; readonly refresh_token: string }

type Answer = { readonly status: number; readonly draining: boolean; readonly body: Body }

function sendOnce(agent: Agent, address: string, form: Record<string, string>): Promise<Answer> {
  const body = new URLSearchParams(form).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length }
  return new Promise((resolve, reject) => {
    const outgoing = request(address, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', () => {
        const draining = response.headers.connection === 'close'
        resolve({ status: response.statusCode ?? 0, draining, body: JSON.parse(text) })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
