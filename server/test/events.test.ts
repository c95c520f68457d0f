/** The lines of the log: one for each event, with the name and the level that docs/operations/monitoring.md gives it. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createEvents, type Events } from '../src/events.ts'

type Logged = { readonly event: string; readonly level: string }

/** What is logged by calling each event once, or once for each of its lines. */
const calls: { readonly [Name in keyof Events]: (events: Events) => void } = {
  listening: (events) => events.listening('http://localhost:8080'),
  metricsListening: (events) => events.metricsListening('http://localhost:9090'),
  supervising: (events) => events.supervising(2, 'http://localhost:8080'),
  gateNotShared: (events) => events.gateNotShared(),
  processDied: (events) => events.processDied(17, 'signal SIGKILL'),
  replacing: (events) => events.replacing(2),
  replaced: (events) => events.replaced(),
  replaceFailed: (events) => events.replaceFailed(new Error('no')),
  draining: (events) => events.draining(5),
  stopped: (events) => events.stopped(),
  engine: (events) => {
    events.engine('postgresql', false, 'refused')
    events.engine('redis', true)
  },
  reloaded: (events) => events.reloaded(),
  clockJumped: (events) => events.clockJumped(-3),
  restored: (events) => events.restored({ grants: 1 }, ['unproven:1']),
  journalUnproven: (events) => events.journalUnproven(1),
  statementRefused: (events) => events.statementRefused('acme', '"exp" has passed'),
  providerFailed: (events) => events.providerFailed('acme', 'invalid_grant'),
  granted: (events) => events.granted('grt_1', 'app_1', 'acc_1'),
  codeRejected: (events) => events.codeRejected('app_1', 'acc_1'),
  dialogDenied: (events) => events.dialogDenied('app_1', 'acc_1'),
  grantRevoked: (events) => events.grantRevoked('grt_1', 'refresh_token_reused'),
  mailFailed: (events) => events.mailFailed(1, 2, false, new Error('no')),
  shedding: (events) => {
    events.shedding(7)
    events.shedding(0)
  },
  mailOff: (events) => events.mailOff(),
  auditHead: (events) => events.auditHead(7, 'abc'),
  auditDiffers: (events) => events.auditDiffers(7),
  taskFailed: (events) => events.taskFailed('sweeping', new Error('no')),
  unexpected: (events) => events.unexpected('http', new Error('no')),
  answered: (events) => events.answered?.({ method: 'GET', status: 200, ms: 1 }),
}

function loggedBy(call: (events: Events) => void, level = 'debug'): Logged[] {
  const lines: Logged[] = []
  call(createEvents(level, undefined, { write: (line) => void lines.push(JSON.parse(line)) }))
  return lines
}

/** Headings of "Events": names, level. */
function documented(): Logged[] {
  const page = readFileSync(new URL('../../docs/operations/monitoring.md', import.meta.url), 'utf8')
  const headings = page.matchAll(/^#### ((?:`\w+`(?:, )?)+) \((debug|info|warn|error)\)$/gm)
  return Array.from(headings).flatMap(([, names = '', level = '']) =>
    Array.from(names.matchAll(/`(\w+)`/g), ([, event = '']) => ({ event, level })),
  )
}

const unique = (logged: readonly Logged[]) =>
  [...new Set(logged.map(({ event, level }) => `${event} ${level}`))].toSorted()

test('every event is logged under the name and at the level that the documentation gives it', () => {
  const logged = Object.values(calls).flatMap((call) => loggedBy(call))
  expect(unique(logged)).toEqual(unique(documented()))
})

test('an error is logged with its message and without its other fields, which may hold values', () => {
  const error = Object.assign(new Error('column is missing'), { detail: 'value lks_secret' })
  expect(loggedBy((events) => events.unexpected('http', error))).toEqual([
    expect.objectContaining({ event: 'unexpected', where: 'http', reason: 'column is missing' }),
  ])
  expect(JSON.stringify(loggedBy((events) => events.taskFailed('sweeping', error)))).not.toContain('lks_secret')
})

test('a level hides the lines below it', () => {
  expect(loggedBy(calls.granted, 'warn')).toEqual([])
  expect(loggedBy(calls.grantRevoked, 'warn')).toHaveLength(1)
  expect(loggedBy(calls.answered, 'info')).toEqual([])
})
