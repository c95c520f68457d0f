/**
 * npm run verify -- webhooks [--kills N]: a server is killed repeatedly, at random moments and while sending,
 * while grants are created and revoked and a receiver refuses, disconnects and hangs. At the end every committed event has
 * arrived, signed, with one id however often it was sent. docs/interface/webhooks.md.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEngines } from '../../../../tools/engines.ts'
import { closeContext, createContext } from '../../../src/app.ts'
import { WEBHOOK_KINDS } from '../../../src/core/webhooks/webhook.ts'
import { addEndpoint, readWebhookSecret } from '../../../src/flows/webhooks/manage.ts'
import { createTestDatabase } from '../../rig/engines/database.ts'
import { type MadeUser, makeAccount, makeApplication, makeConfig, makeUser } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startWebhookLoad } from './webhook-load.ts'
import type { Line } from './webhook-receiver.ts'

/**
 * From the commit to the receiver's acceptance: it may refuse twice (42 s), hang once (10 s), and be leased by a
 * process that dies (30 s), several times.
 */
const MAX_SECONDS = 240

const STAGES = ['before', 'sent', 'answered'] as const

/** By then, a server that is to be killed while sending has had something to send. */
const MAX_LIFE_MS = 20_000

const { values } = parseArgs({ options: { kills: { type: 'string', default: '100' } } })
const kills = Number(values.kills)
if (!(Number.isInteger(kills) && kills > 0)) throw new Error('--kills takes a number')

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl
const database = await createTestDatabase()
const environment = { DATABASE_URL: database.url, OUTBOUND_PRIVATE: 'true' }
const config = makeConfig(environment)
const context = await createContext(config)
const account = await makeAccount(context.db)
const application = await makeApplication(context.db, config, account.slug)
const users: MadeUser[] = []
for (let count = 0; count < 4; count += 1) users.push(await makeUser(context.db, account.slug))
await context.applications.refresh()

const lines: Line[] = []
const receiver = spawn(process.execPath, [new URL('webhook-receiver.ts', import.meta.url).pathname], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const port = await heard(receiver, lines)
receiver.stdin?.write(`${await hook(`http://127.0.0.1:${port}/hooks`)}\n`)

const died = { kills: 0, sending: 0 }
let server: ServerProcess | null = null
try {
  server = await begin(1)
  const load = startWebhookLoad({ address: () => server?.address ?? '', application, users, context })
  for (let life = 1; life <= kills; life += 1) {
    const itself = server.exited.then(() => true)
    const alive = sleep(endsItself(life) ? MAX_LIFE_MS : 500 + Math.random() * 2_000, false)
    if (await Promise.race([itself, alive])) died.sending += 1
    await server.kill('SIGKILL')
    died.kills += 1
    server = await begin(life + 1)
  }
  await load.finish()
  await sent()
  const problems = await compare()
  for (const problem of problems.slice(0, 20)) console.error(`webhooks: ${problem}`)
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  await server?.kill('SIGKILL')
  receiver.stdin?.end()
  await closeContext(context)
  await database.drop()
}

/** Every other process is killed while sending, the last one is not killed. */
function endsItself(life: number): boolean {
  return life % 2 === 0 && life <= kills
}

function begin(life: number): Promise<ServerProcess> {
  if (!endsItself(life)) return startServerProcess(environment)
  const stage = STAGES[(life / 2) % STAGES.length] ?? 'sent'
  const killed = { KILL_AT: stage, KILL_AFTER: String(1 + Math.floor(Math.random() * 15)) }
  const preload = new URL('kill-in-delivery.ts', import.meta.url)
  return startServerProcess({ ...environment, ...killed }, { preload })
}

async function hook(url: string): Promise<string> {
  const by = users[0]?.id ?? ''
  const added = await addEndpoint(context, by, application.id, url)
  if (added.outcome !== 'added') throw new Error(`the endpoint was not added: ${added.outcome}`)
  const shown = await readWebhookSecret(context, account.id, application.id, added.endpointId)
  return shown?.secret ?? ''
}

/** Resolves with the port; later output is kept. */
function heard(child: ChildProcess, into: Line[]): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the receiver ended with ${code}`)))
    if (!child.stdout) return
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = JSON.parse(line)
      if ('port' in said) resolve(said.port)
      else into.push(said)
    })
  })
}

/** Waits until nothing is queued, within the time limit. */
async function sent(): Promise<void> {
  for (const late = Date.now() + MAX_SECONDS * 1000; Date.now() < late; await sleep(500)) {
    const [row] = await database.query<{ waiting: number }>(
      'select count(*)::int as waiting from webhook_deliveries where delivered_at is null',
    )
    if (row?.waiting === 0) return
  }
}

type Committed = { event: string; ids: string[]; at: Date }

/** Events of the audit log, and the webhook ids queued for them. */
function committed(): Promise<Committed[]> {
  return database.query<Committed>(
    `select a.kind || ' ' || a.grant_id as event, a.at,
       coalesce(array_agg('evt_' || replace(d.event_id::text, '-', '')) filter (where d.id is not null), '{}') as ids
     from audit_events a left join webhook_deliveries d on d.kind = a.kind and d.data ->> 'grant' = a.grant_id::text
     where a.kind = any($1) group by a.id, a.at`,
    [WEBHOOK_KINDS],
  )
}

async function compare(): Promise<readonly string[]> {
  const events = await committed()
  const taken = lines.filter(({ outcome }) => outcome === 'taken')
  const first = new Map<string, number>()
  for (const { id, at } of taken) if (!first.has(id)) first.set(id, at)
  const lost = events.filter(({ ids }) => !ids.every((id) => first.has(id)) || ids.length === 0)
  const known = new Map(events.flatMap(({ event, ids }) => ids.map((id) => [id, event] as const)))
  const waits = events.map(({ ids, at }) => ((first.get(ids[0] ?? '') ?? Number.NaN) - at.getTime()) / 1000)
  const worst = Math.max(0, ...waits.filter((wait) => !Number.isNaN(wait)))
  console.log(
    `webhooks: kills=${died.kills} in_sending=${died.sending} events=${events.length} received=${first.size} repeated=${taken.length - first.size} lost=${lost.length} worst_s=${worst.toFixed(1)}`,
  )
  return [
    ...lost.map(({ event, ids }) => `${event} was committed and never arrived (${ids.join(', ') || 'not queued'})`),
    ...events.filter(({ ids }) => ids.length > 1).map(({ event }) => `${event} has more than one id`),
    ...taken
      .filter(({ id, event }) => known.get(id) !== event)
      .map(({ event }) => `${event} arrived and never happened`),
    ...lines.filter(({ outcome }) => outcome === 'forged').map(({ id }) => `the signature of ${id} does not hold`),
    ...(worst > MAX_SECONDS ? [`one took ${worst.toFixed(1)} s`] : []),
    ...(died.kills < kills ? [`only ${died.kills} kills of ${kills}`] : []),
    ...(kills > 1 && died.sending === 0 ? ['no server ended in the middle of sending: that proves little'] : []),
    ...(events.length < kills ? [`only ${events.length} events: that proves nothing`] : []),
  ]
}
