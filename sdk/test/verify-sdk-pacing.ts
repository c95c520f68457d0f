/**
 * npm run verify -- sdk-pacing [--polls N --real-polls N --seed N]: an application with this library never gets slow_down.
 *
 * In virtual time, for the volume: sessions poll the gate of a server without Redis through a network whose every direction
 * takes 400 ms ± 400 ms. As a control, devices that count the interval from one sending to the
 * next, with the same margin, use the same network. In real time: many devices at once, the real server and the Redis gate.
 */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { paceFor } from '../../server/src/gate/gate.ts'
import { createLocalGate } from '../../server/src/gate/local-gate.ts'
import { startEngines } from '../../tools/engines.ts'
import { createChance } from './rig/chance.ts'
import { pollInRealTime } from './rig/paced-devices.ts'
import { importSdk } from './rig/packed.ts'
import { VirtualClock } from './rig/virtual-clock.ts'

const INTERVALS = [1, 2, 5, 10, 60]
const SESSIONS = 50
const WAY_MS = 400
const JITTER_MS = 400

const { values } = parseArgs({
  options: {
    polls: { type: 'string', default: '100000' },
    'real-polls': { type: 'string', default: '5000' },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
  },
})
const [count, realCount, seed] = [values.polls, values['real-polls'], values.seed].map(Number) as [
  number,
  number,
  number,
]
if (![count, realCount].every((each) => Number.isInteger(each) && each > 0) || !Number.isInteger(seed)) {
  throw new Error('--polls, --real-polls and --seed take numbers')
}
process.stdout.write(`sdk-pacing: seed=${seed}\n`)
const { databaseUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl

const { createClient } = await importSdk()
const chance = createChance(seed)
const [bySdk, bySending] = [await measure(pollBySdk), await measure(pollBySending)]
process.stdout.write(
  `sdk-pacing: virtual time, gate alone: jitter=±${JITTER_MS}ms intervals=${INTERVALS.join(',')}s polls=${bySdk.polls} ` +
    `slow_down=${bySdk.early}, counted from sending instead: polls=${bySending.polls} slow_down=${bySending.early}\n`,
)
const real = await pollInRealTime(realCount, chance)
process.stdout.write(
  `sdk-pacing: real time, server and Redis: devices=${real.devices} interval=${real.interval}s polls=${real.polls} ` +
    `paced_by_redis=${real.atRedis} slow_down=${real.slowDowns}, one device too early: slow_down=${real.slowDownsOfHasty}\n`,
)

const proofs: readonly (readonly [claim: string, holds: boolean])[] = [
  [`${count} polls in virtual time`, bySdk.polls >= count],
  ['none of them early', bySdk.early === 0],
  ['some early when counted from sending', bySending.early > 0],
  [`${realCount} polls in real time`, real.polls >= realCount],
  // On a busy machine Redis answers some too late, and the process paces them itself.
  ['most of them paced by Redis', real.atRedis * 2 > real.polls],
  ['none of them answered slow_down', real.slowDowns === 0],
  ['one that is too early is answered slow_down', real.slowDownsOfHasty === 1],
]
for (const [claim, holds] of proofs) if (!holds) process.stderr.write(`sdk-pacing: not shown: ${claim}\n`)
process.exit(proofs.every(([, holds]) => holds) ? 0 : 1)

type Network = { readonly clock: VirtualClock; poll(session: string, interval: number): Promise<boolean> }
type Poller = (network: Network, session: string, interval: number, polls: number) => Promise<void>

/** All sessions at once, each with its share of the polls. */
async function measure(poller: Poller): Promise<{ polls: number; early: number }> {
  const clock = new VirtualClock()
  const gate = createLocalGate(() => clock.now())
  const seen = { polls: 0, early: 0 }
  const way = () => clock.sleep(WAY_MS + (chance() * 2 - 1) * JITTER_MS)
  const network: Network = {
    clock,
    poll: async (session, interval) => {
      await way()
      const { early } = await gate.poll(session, paceFor(interval))
      seen.polls += 1
      if (early) seen.early += 1
      await way()
      return early
    },
  }
  const each = Math.ceil(count / SESSIONS)
  const sessions = Array.from({ length: SESSIONS }, (_, index) => {
    const interval = INTERVALS[index % INTERVALS.length] ?? 1
    return poller(network, `session ${index}`, interval, each)
  })
  await clock.during(Promise.all(sessions))
  return seen
}

/** The library, with a `fetch` that answers as the service does for a pending code. */
async function pollBySdk({ clock, poll }: Network, id: string, interval: number, polls: number): Promise<void> {
  const fetch: typeof globalThis.fetch = async (input, init) => {
    if (String(input).endsWith('/code')) {
      const state = new URLSearchParams(String(init?.body)).get('state')
      return Response.json({ device_code: id, user_code: '000000000', expires_in: 2 ** 31, interval, state })
    }
    const error = (await poll(id, interval)) ? 'slow_down' : 'auth_pending'
    return Response.json({ error }, { status: 400, headers: { 'retry-after': String(interval) } })
  }
  const client = createClient({ baseUrl: 'https://service.example', appId: 'app', appSecret: 'secret', clock, fetch })
  const session = await client.device.start({ variant: 'token_set' })
  let heard = 0
  for await (const _ of session) {
    heard += 1
    if (heard === polls) return
  }
}

/** A common mistake: polls every `interval` and a margin, whenever the last answer came. */
async function pollBySending({ clock, poll }: Network, id: string, interval: number, polls: number): Promise<void> {
  const sent: Promise<boolean>[] = []
  for (let each = 0; each < polls; each += 1) {
    await clock.sleep(Math.max(interval * 1100, interval * 1000 + 500))
    sent.push(poll(id, interval))
  }
  await Promise.all(sent)
}
