/**
 * npm run measure:announcements: the cost of announcing a decision to other processes, in committed decisions per second.
 * docs/decisions/0026-decisions-are-announced-by-the-audit-log.md has the figures.
 *
 * pgbench runs a transaction of a decision's weight on the real tables: lock the code, insert the grant, save the code, record the
 * event. Four readers stand for four processes. Variants alternate, round after round; what counts are the ratios, and how many
 * flushes to disk a commit takes: concurrent commits can share one. Other load on the machine does not change that.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { readAnnouncedDecisions } from '../server/src/store/device/decision-feed.ts'
import { openPostgres } from '../server/src/store/postgres/postgres.ts'
import { startOwnPostgres } from '../server/test/rig/engines/own-postgres.ts'
import { makeAccount, makeApplication, makeConfig, makeUser } from '../server/test/rig/make.ts'
import { postgresFolder } from '../tools/engine-processes.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '3' } },
})
const ROUNDS = Number(values.rounds)
const CONCURRENCY = [1, 8, 32]
const READERS = 4
const CODES = 10_000
const PULL_MS = 250

const postgres = await startOwnPostgres()
const folder = mkdtempSync(join(tmpdir(), 'latchkey-announcements-'))
const db = openPostgres(postgres.url, 4)
const config = makeConfig({ DATABASE_URL: postgres.url })
const account = await makeAccount(db)
const user = await makeUser(db, account.slug)
const application = await makeApplication(db, config, account.slug)
const EXPIRES = "'2030-01-01T00:30:00Z'"
await db.query("select make_device_code_partition('2030-01-01T00:00:00Z')")
await db.query(`insert into device_codes (id, expires_at, created_at, application_id, variant, status, key_id, user_code_digits, user_code_digest, scopes, state)
  select md5(n::text)::uuid, ${EXPIRES}, now(), '${application.id}', 'token_set', 'pending', 1, 9, uuid_send(md5(n::text)::uuid), '{}', ''
  from generate_series(1, ${CODES}) n`)
await db.query(`create table decision_feed (xid xid8 not null default pg_current_xact_id(), device_code_id uuid not null);
  create index on decision_feed (xid)`)

type Way = { readonly name: string; readonly announce: string; read(): Promise<() => Promise<void>> }

/** `start`: a reader that pulls once for each call of what it returns. */
const pulling = (start: () => () => Promise<unknown>) => async () => {
  const readers = Array.from({ length: READERS }, start)
  const timers = readers.map((pull) => setInterval(pull, PULL_MS))
  return async () => timers.forEach(clearInterval)
}

const ways: readonly Way[] = [
  { name: 'unannounced', announce: '', read: async () => async () => {} },
  {
    name: 'audit log, pulled',
    announce: '',
    read: pulling(() => {
      let position: string | null = null
      return async () => {
        position = (await readAnnouncedDecisions(db, position)).position
      }
    }),
  },
  {
    name: 'own table, pulled',
    announce: 'insert into decision_feed (device_code_id) values (md5(:n::text)::uuid);',
    read: pulling(
      () => () =>
        db.query(`select device_code_id from decision_feed where xid >= pg_snapshot_xmin(pg_current_snapshot())`),
    ),
  },
  {
    name: 'notify, listened to',
    announce: "select pg_notify('decisions', md5(:n::text || random()::text));",
    read: async () => {
      const listeners = Array.from({ length: READERS }, () => new pg.Client({ connectionString: postgres.url }))
      for (const listener of listeners) {
        await listener.connect()
        await listener.query('listen decisions')
      }
      return async () => {
        for (const listener of listeners) await listener.end()
      }
    },
  },
]

function scriptOf({ name, announce }: Way): string {
  const file = join(folder, `${name.replaceAll(/\W+/g, '-')}.sql`)
  const place = `id = md5(:n::text)::uuid and expires_at = ${EXPIRES}`
  writeFileSync(
    file,
    `\\set n random(1, ${CODES})
begin;
select status from device_codes where ${place} for update;
insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at)
  values ('grt_' || left(md5(gen_random_uuid()::text), 20), gen_random_uuid(), '${account.id}', '${user.id}', '${application.id}', 'token_set', '{}', gen_random_uuid(), 1, now());
update device_codes set state = '', decided_at = now() where ${place};
insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, device_code_id)
  values (now(), 'grant.created', 'service', 'test', 'job', '${account.id}', '${user.id}', '${application.id}', md5(:n::text)::uuid);
${announce}
commit;
`,
  )
  return file
}

type Measured = { readonly perSecond: number; readonly flushesPerCommit: number }

async function measure(file: string, clients: number): Promise<Measured> {
  const before = await countFlushes()
  const said = await pgbench(file, clients)
  const [, commits, perSecond] = /processed: (\d+)[\s\S]*^tps = ([\d.]+)/m.exec(said) ?? []
  if (!commits || !perSecond) throw new Error(`pgbench said:\n${said}`)
  return { perSecond: Number(perSecond), flushesPerCommit: ((await countFlushes()) - before) / Number(commits) }
}

async function countFlushes(): Promise<number> {
  const { rows } = await db.query<{ flushes: number }>('select wal_sync as flushes from pg_stat_wal')
  return rows[0]?.flushes ?? 0
}

/** Asynchronous, so that readers read meanwhile. */
function pgbench(file: string, clients: number): Promise<string> {
  const args = ['-n', '-M', 'prepared', '-c', clients, '-j', 2, '-T', values.seconds, '-f', file, postgres.url]
  const child = spawn(join(postgresFolder(), 'pgbench'), args.map(String), { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (data) => {
    said += data
  })
  return new Promise((resolve) => child.on('close', () => resolve(said)))
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}

function rounded(figure: number): number {
  return Number(figure.toFixed(2))
}

try {
  const scripts = new Map(ways.map((way) => [way, scriptOf(way)]))
  for (const clients of CONCURRENCY) {
    const measured = new Map<Way, Measured[]>(ways.map((way) => [way, []]))
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const way of ways) {
        const stopReading = await way.read()
        measured.get(way)?.push(await measure(scripts.get(way) ?? '', clients))
        await stopReading()
      }
    }
    const plain = measured.get(ways[0] as Way) ?? []
    for (const [way, rounds] of measured) {
      const perSecond = Math.round(median(rounds.map((each) => each.perSecond)))
      const ratio = rounded(median(rounds.map((each, round) => each.perSecond / (plain[round]?.perSecond ?? 0))))
      const flushesPerCommit = rounded(median(rounds.map((each) => each.flushesPerCommit)))
      console.log(JSON.stringify({ clients, way: way.name, perSecond, ratio, flushesPerCommit }))
    }
  }
} finally {
  await db.close()
  postgres.remove()
  rmSync(folder, { recursive: true, force: true })
}
