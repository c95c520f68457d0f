/**
 * npm run verify -- restore: runs the commands of docs/operations/backup.md, "Continuous archiving" and "Restore to a point in time", word by
 * word: a full backup under load, a restore to some seconds ago, and the service again. What was ended in the lost time stays
 * ended, nothing else ends, and the restored copy is sound. Then measures what the journal costs a revocation. Needs pgBackRest.
 *
 *   npm run verify -- restore [--seed 1] [--size 20] [--lost 20] [--full]
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { createPostgres, postgresCommand, postgresFolder } from '../../../../tools/engine-processes.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { blocksOf, commandsOf, type Substitution, substitute } from '../../../../tools/install/document.ts'
import { createShell, runAll } from '../../../../tools/install/shell.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { closeContext, createContext } from '../../../src/app.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { makeConfig, makeEnvironment } from '../../rig/make.ts'
import { EXECUTABLE } from '../../rig/process/executable.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { journalCost } from './journal-cost.ts'
import { startGrantingLoad } from './restored-load.ts'
import { RestoredScene, type Share } from './restored-scene.ts'

/** F36: what was ended stays ended. F37: the restored copy is sound. */
const PROVES = ['F36', 'F37']
const PAGE = 'docs/operations/backup.md'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    size: { type: 'string' },
    lost: { type: 'string' },
    full: { type: 'boolean', default: false },
  },
})
if (!existsSync('/usr/bin/pgbackrest')) throw new Error('pgBackRest is missing: apt-get install pgbackrest')
const seed = Number(values.seed)
const size = Number(values.size ?? (values.full ? 500 : 20 + (seed % 5)))
const lostMs = 1000 * Number(values.lost ?? (values.full ? 600 : 20 + (seed % 7)))

const folder = mkdtempSync(join(tmpdir(), 'latchkey-verify-restore-'))
for (const name of ['', 'repository', 'log', 'lock', 'sockets']) {
  mkdirSync(join(folder, name), { recursive: true })
  // PostgreSQL and pgBackRest run as another user.
  chmodSync(join(folder, name), 0o777)
}
const port = await freePort()
const postgres = createPostgres(folder, port)
const backrestFile = join(folder, 'pgbackrest.conf')
/** As createPostgres starts it: recovery needs no fewer connections than there were. */
const settings = `-p ${port} -h 127.0.0.1 -k ${join(folder, 'sockets')} -c max_connections=300`
const pgCtl = (...args: string[]) => postgresCommand('pg_ctl', ['-D', postgres.data, ...args]).join(' ')
const asPostgres = process.getuid?.() === 0 ? 'runuser -u postgres -- ' : ''

const SETTINGS: readonly Substitution[] = [
  { from: '/var/lib/pgbackrest', to: join(folder, 'repository'), why: 'a temporary repository' },
  {
    from: 'pg1-path=/var/lib/postgresql/15/main',
    to: `pg1-path=${postgres.data}\npg1-port=${port}\npg1-socket-path=${join(folder, 'sockets')}\npg1-user=latchkey`,
    why: 'a PostgreSQL of its own',
  },
  {
    from: 'start-fast=y',
    to: `start-fast=y\nlog-path=${join(folder, 'log')}\nlock-path=${join(folder, 'lock')}`,
    why: 'no folders of the system',
  },
]
const backrest: Substitution = {
  from: 'pgbackrest --stanza',
  to: `pgbackrest --config=${backrestFile} --stanza`,
  why: 'its own configuration',
}
const sudo: Substitution = { from: 'sudo -u postgres ', to: asPostgres, why: 'no sudo' }
const SET_UP: readonly Substitution[] = [
  backrest,
  sudo,
  {
    from: 'sudo systemctl restart postgresql',
    to: pgCtl('-w', '-m', 'fast', '-l', join(folder, 'log', 'server.log'), 'restart'),
    why: 'no systemd',
  },
]
const restoring = (target: string): readonly Substitution[] => [
  backrest,
  sudo,
  { from: '2026-11-17 10:20:00+00', to: target, why: 'the point in time' },
  { from: 'sudo systemctl stop latchkey', to: 'true', why: 'the proof has stopped its processes' },
  { from: 'sudo systemctl stop postgresql', to: pgCtl('-w', '-m', 'fast', 'stop'), why: 'no systemd' },
  {
    from: 'sudo systemctl start postgresql',
    to: pgCtl('-w', '-l', join(folder, 'log', 'server.log'), '-o', `'${settings}'`, 'start'),
    why: 'no systemd',
  },
  { from: '/usr/lib/postgresql/15/bin', to: postgresFolder(), why: 'whichever version is installed' },
]
const FINISHING: readonly Substitution[] = [
  { from: 'sudo systemctl start latchkey', to: 'true', why: 'the proof has started its processes' },
  { from: 'latchkey restore', to: `${process.execPath} ${EXECUTABLE} restore`, why: 'as built' },
  { from: 'latchkey audit', to: `${process.execPath} ${EXECUTABLE} audit`, why: 'as built' },
]

/** Of the restored copy, before the service runs on it: each must be 0. */
const INVARIANTS: Readonly<Record<string, string>> = {
  'accepted codes without a grant': `select count(*) from device_codes c
    where c.grant_id is not null and not exists (select from grants g where g.id = c.grant_id)`,
  'codes with two grants': `select count(*) from (select from grants where device_code_id is not null
    group by device_code_id having count(*) > 1) twice`,
  'revoked grants without an event': `select count(*) from grants g where revoked_at is not null
    and not exists (select from audit_events e where e.grant_id = g.id and e.kind = 'grant.revoked')`,
  'granted codes without an event': `select count(*) from device_codes c where c.grant_id is not null
    and not exists (select from audit_events e where e.grant_id = c.grant_id and e.kind = 'grant.created')`,
  'gaps in the seals': 'select coalesce(max(position), 0) - count(*) from audit_seals',
}

const environment = {
  DATABASE_URL: postgres.url,
  POLL_INTERVAL: '1',
  REVOCATION_JOURNAL: join(folder, 'revocations.jsonl'),
}
const shell = createShell(['bash', '-ec'], {
  cwd: '/',
  env: {
    PATH: process.env.PATH,
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    PGUSER: 'latchkey',
    PGDATABASE: 'postgres',
    ...makeEnvironment(environment),
  },
})
const runBlocks = async (heading: string, which: readonly number[], substitutions: readonly Substitution[]) => {
  const blocks = blocksOf(heading, PAGE).filter(({ language }) => language === 'sh')
  const chosen = which.flatMap((at) => blocks[at] ?? [])
  const text = chosen.map((block) => block.text).join('')
  return runAll(shell, commandsOf({ language: 'sh', text: substitute(heading, text, substitutions) }))
}
const ask = async (sql: string): Promise<string> => {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  try {
    return String(Object.values((await client.query(sql)).rows[0] ?? {})[0])
  } finally {
    await client.end()
  }
}

const problems: string[] = []
const shown = ({ held, of }: Share, what: string): string => {
  if (held < of) problems.push(`${of - held} of ${of} ${what}`)
  return `${held}/${of}`
}
let end = async () => {}
try {
  const ini = blocksOf('Continuous archiving', PAGE).find(({ language }) => language === 'ini')?.text ?? ''
  writeFileSync(backrestFile, substitute('pgbackrest.conf', ini, SETTINGS))
  postgres.start()
  await migrate(postgres.url)
  await runBlocks('Continuous archiving', [0], SET_UP)

  const context = await createContext(makeConfig(environment))
  const before = await startServerProcess(environment)
  end = async () => {
    await before.kill('SIGKILL')
    await closeContext(context)
  }
  const load = await startGrantingLoad(context, before.address)
  await runBlocks('Continuous archiving', [1], [backrest, sudo])
  const scene = await RestoredScene.make(context, before.address, size)
  const target = await ask('select clock_timestamp()::text')
  const targetAt = Date.now()
  await sleep(1_000)
  await scene.endInLostTime(before.address)
  await sleep(Math.max(0, targetAt + lostMs - Date.now()))
  const lostSeconds = Math.round((Date.now() - targetAt) / 1000)
  const granted = await load.stop()
  await before.kill('SIGTERM')

  await runBlocks('Restore to a point in time', [0], restoring(target))
  for (const [name, sql] of Object.entries(INVARIANTS)) {
    const found = Number(await ask(sql))
    if (found > 0) problems.push(`${found} ${name}`)
  }
  const after = await startServerProcess(environment)
  end = async () => {
    await after.kill('SIGKILL')
    await closeContext(context)
  }
  await sleep(3_000)
  const facts = await scene.lookAfterwards(after.address)
  const [, checked = '', , finished = ''] = await runBlocks('Restore to a point in time', [1], FINISHING)
  console.log(checked.trim())
  if (facts.successorsRefused > 0) problems.push(`${facts.successorsRefused} renewed credentials are refused`)
  if (facts.wronglyEnded > 0) problems.push(`${facts.wronglyEnded} credentials were ended that nobody ended`)
  const lostGrants = Number(/that are lost: (\d+)/.exec(checked)?.[1] ?? 0)
  if (!finished.includes('The restore is finished.')) problems.push('the restore is not finished')
  if (lostGrants < size) problems.push(`${lostGrants} lost grants were counted`)
  const figures = [
    `revoked_stay=${shown(facts.revokedStay, 'revoked keys are valid')}`,
    `spent_stay=${shown(facts.spentStay, 'spent codes or refresh tokens are valid')}`,
    `suspended_stay=${shown(facts.suspendedStay, 'suspended applications are active')}`,
    `disabled_stay=${shown(facts.disabledStay, 'disabled users have access')}`,
    `dismissed_stay=${shown(facts.dismissedStay, 'dismissed administrators are administrators')}`,
  ].join(' ')
  const cost = await journalCost(postgres.url, join(folder, 'measured.jsonl'), values.full ? 2_000 : 200)
  for (const problem of problems) console.error(`restore: ${problem}`)
  console.log(
    `restore: journal_ms=${cost.withMs} without_ms=${cost.withoutMs} ratio=${cost.ratio} (median of a revocation)`,
  )
  console.log(
    `restore: proves=${PROVES.join(',')} seed=${seed} lost_seconds=${lostSeconds} granted_under_load=${granted} lost_grants=${lostGrants} ${figures} wrongly_ended=${facts.wronglyEnded} problems=${problems.length}`,
  )
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  await end()
  postgres.stop('immediate')
  removeFolder(folder)
}
