/**
 * Checks that credential stuffing is throttled, and that honest users sign in meanwhile.
 *
 *   npm run verify -- stuffing           10,000 guesses from 1,000 networks over 1,000 accounts, 100 honest sign-ins
 *   npm run verify -- stuffing --full    100,000 guesses from 1,000 networks over 1,000 accounts, 500 honest sign-ins
 *
 * One built server in a process of its own, PostgreSQL, a Redis and a mail server of its own; passwords are hashed as ever. Each guess
 * is a leaked pair that is tried once: an address and a password, of which one in a hundred is right. Meanwhile honest users sign in,
 * three of five with a known browser, one with a passkey, one with a new browser, who opens the mailed link if asked to.
 *
 * The short form has a tenth of the guesses, so its budget of the service is a tenth, too. Budgets:
 * docs/decisions/0035-strangers-are-budgeted-before-hashing.md.
 */
import { fork } from 'node:child_process'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { startEngines } from '../../../tools/engines.ts'
import { closeContext, createContext } from '../../src/app.ts'
import { createTestDatabase } from '../rig/engines/database.ts'
import { makeConfig } from '../rig/make.ts'
import { startMailbox } from '../rig/network/mailbox.ts'
import { startServerProcess } from '../rig/process/server-process.ts'
import { type HonestOutcome, signInHonestly } from './honest-sign-ins.ts'
import { startPrivateRedis } from './private-redis.ts'
import type { Attack, Guess, Progress, Result } from './stuffing-guesses.ts'
import { makeHarness, PASSWORD } from './stuffing-harness.ts'

const { values } = parseArgs({ options: { full: { type: 'boolean', default: false } } })
const sizes = values.full
  ? { guesses: 100_000, networks: 1_000, accounts: 1_000, honest: 500, budget: 1_000 }
  : { guesses: 10_000, networks: 1_000, accounts: 1_000, honest: 100, budget: 100 }

/** Guesses that are under way at once. */
const CONCURRENCY = 16

/** Honest sign-ins of each kind before it starts: connections, compiled code, PostgreSQL's plans. */
const WARM_UP = 5

/** Of the right guesses. */
const MAX_SUCCESS_SHARE = 0.05

const MAX_P99_MS = 2_000

if (!process.env.DATABASE_URL) process.env.DATABASE_URL = (await startEngines()).databaseUrl
const [database, engine, mailbox] = await Promise.all([createTestDatabase(), startPrivateRedis(), startMailbox()])
const environment = {
  DATABASE_URL: database.url,
  REDIS_URL: engine.url,
  SMTP_URL: mailbox.url,
  TRUST_PROXY: '127.0.0.1',
  SIGN_IN_FAILURES: String(sizes.budget),
}
const config = makeConfig(environment)
const publicHost = new URL(config.publicUrl).host
const context = await createContext(config)
const harness = await makeHarness(context, { ...sizes, leaked: sizes.guesses / 100, honest: sizes.honest + WARM_UP })
await closeContext(context)
const server = await startServerProcess(environment)
const redis = new Redis(engine.url)
const problems: string[] = []
try {
  for (const user of harness.honest.slice(sizes.honest)) await signInHonestly(server.address, publicHost, mailbox, user)
  const spent = watchBudget()
  const honest: Promise<HonestOutcome>[] = []
  const started = performance.now()
  const result = await attack((sent) => {
    const user = harness.honest[sent / (sizes.guesses / sizes.honest) - 1]
    if (user) honest.push(signInHonestly(server.address, publicHost, mailbox, user))
  })
  const seconds = (performance.now() - started) / 1000
  await report(seconds, result, spent.stop(), await Promise.all(honest))
} finally {
  await server.kill('SIGTERM')
  redis.disconnect()
  engine.stop()
  await mailbox.stop()
  await database.drop()
}
for (const problem of problems) console.error(`stuffing: ${problem}`)
console.log(`stuffing: guesses=${sizes.guesses} problems=${problems.length} ${problems.length > 0 ? 'MISSED' : 'ok'}`)
process.exitCode = problems.length > 0 ? 1 : 0

/** Runs to the end of the list; `onSent` is called with each number of guesses that were sent. */
function attack(onSent: (sent: number) => void): Promise<Result> {
  const attacker = fork(new URL('./stuffing-guesses.ts', import.meta.url))
  const guesses = Array.from({ length: sizes.guesses }, (_, at) => guessAt(at))
  attacker.send({ address: server.address, publicHost, guesses, concurrency: CONCURRENCY } satisfies Attack)
  return new Promise((resolve, reject) => {
    attacker.on('message', (told: Progress | Result) => ('sent' in told ? onSent(told.sent) : resolve(told)))
    attacker.on('exit', (status) => reject(new Error(`the attacker ended with ${status}`)))
  })
}

/** Networks in turn; of a hundred guesses one is right, another one of each hundred. */
function guessAt(at: number): Guess {
  const hundred = Math.floor(at / 100)
  const right = at % 100 === (hundred * 37) % 100 ? harness.leaked[hundred] : undefined
  const network = (at * 7) % sizes.networks
  const slug = right?.slug ?? harness.slugs[(at * 13) % sizes.accounts] ?? ''
  const [email, password] = right ? [right.email, PASSWORD] : [`pair${at}@leak.example`, 'what it was elsewhere']
  return { slug, network: `10.${Math.floor(network / 256)}.${network % 256}.7`, email, password }
}

/** Looks at the count of the service, as its processes share it, until it is spent. */
function watchBudget() {
  let spentAt: number | null = null
  const timer = setInterval(async () => {
    const count = Number(await redis.hget('ss:service', 'current'))
    if (count < sizes.budget) return
    spentAt = Date.now()
    clearInterval(timer)
  }, 20)
  return {
    stop: () => {
      clearInterval(timer)
      return spentAt
    },
  }
}

async function report(
  seconds: number,
  { answers, enteredAt }: Result,
  spentAt: number | null,
  outcomes: readonly HonestOutcome[],
): Promise<void> {
  const [row] = await database.query<{ checked: number; mails: number; events: number }>(
    `select (select count(*)::int from sign_in_failures) as checked,
       (select count(*)::int from mails m join users u on u.id = m.user_id and u.email like 'leaked%') as mails,
       (select count(*)::int from refusal_counts) as events`,
  )
  const lost = server
    .log()
    .split('\n')
    .filter((line) => line.includes('task_failed'))
  if (lost.length > 0) console.log(`stuffing: failed tasks: ${lost.length}, first ${lost[0]}`)
  const afterwards = enteredAt.filter((at) => spentAt !== null && at > spentAt).length
  const { leaked } = harness
  console.log(
    `stuffing: seconds=${Math.round(seconds)} answers=${JSON.stringify(answers)} ` +
      `wrong_passwords_hashed=${row?.checked} counted_refusals=${row?.events}`,
  )
  console.log(
    `stuffing: right=${leaked.length} in=${enteredAt.length} before_the_budget_of_the_service_was_spent=${enteredAt.length - afterwards} ` +
      `after=${afterwards} asked_to_confirm_by_mail=${row?.mails}`,
  )
  if (spentAt === null) problems.push('the budget of the service was not spent')
  if (enteredAt.length > MAX_SUCCESS_SHARE * leaked.length)
    problems.push(`${enteredAt.length} of ${leaked.length} right ones got in`)
  if (afterwards > 0) problems.push(`${afterwards} got in after the budget was spent`)
  for (const how of ['known browser', 'passkey', 'new browser'] as const) {
    const own = outcomes.filter((each) => each.how === how)
    const counts = Object.entries(Object.groupBy(own, ({ outcome }) => outcome))
    const words = counts.map(([outcome, each]) => `${outcome.replaceAll(' ', '_')}=${each?.length}`).join(' ')
    const p99 = percentile(own.map(({ ms }) => ms))
    console.log(`stuffing: honest ${how}: ${words} p99_ms=${Math.round(p99)}`)
    const refused = own.filter(({ outcome }) => outcome !== 'in' && (how !== 'new browser' || outcome !== 'confirmed'))
    if (refused.length > 0) problems.push(`${refused.length} of ${own.length} by ${how} were refused`)
    if (how !== 'new browser' && p99 > MAX_P99_MS) problems.push(`${how}: p99 is ${Math.round(p99)} ms`)
  }
}

function percentile(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0
}
