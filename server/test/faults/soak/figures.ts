/** What a soak measures every few seconds: memory and descriptors of each process, connections, transactions, sizes. */
import { readdirSync, readFileSync } from 'node:fs'
import type { TestDatabase } from '../../rig/engines/database.ts'
import { floorOf, type Growth, judgeGrowth, type Point } from './growth.ts'

/** By name: `memory/server 1`. What could not be measured while an engine was away is missing. */
export type Figures = Readonly<Record<string, number>>

export type Sample = { readonly seconds: number; readonly figures: Figures; readonly fault?: string }

/** `pids`: of all its processes. */
export type Watched = { readonly name: string; pids(): readonly number[] }

export type Kind = {
  readonly name: string
  readonly title: string
  readonly unit: string
  readonly allowance: { readonly share: number; readonly atLeast: number }
}

export const KINDS: readonly Kind[] = [
  { name: 'memory', title: 'Memory of each process', unit: 'MB', allowance: { share: 0.2, atLeast: 20 } },
  // After an outage all clients reconnect at once, and their connections stay open for minutes.
  { name: 'descriptors', title: 'File descriptors', unit: '', allowance: { share: 0.1, atLeast: 15 } },
  { name: 'connections', title: 'Connections to PostgreSQL', unit: '', allowance: { share: 0.5, atLeast: 10 } },
  { name: 'transaction', title: 'Age of the oldest transaction', unit: 's', allowance: { share: 0, atLeast: 5 } },
  { name: 'redis', title: 'Memory that Redis uses', unit: 'MB', allowance: { share: 0.2, atLeast: 1 } },
  { name: 'tables', title: 'Tables after each month', unit: 'MB', allowance: { share: 0.2, atLeast: 0.5 } },
  { name: 'indexes', title: 'Indexes after each month', unit: 'MB', allowance: { share: 0.2, atLeast: 0.5 } },
]

/** Length of a month of the soak. The load pauses at the end of each, so that the minimum of a month shows what the process keeps. */
const STRETCH_SECONDS = 60

/** Kinds that vary with the load: judged by their minimum per month. */
const VARY_WITH_LOAD: readonly string[] = ['memory', 'descriptors']

const MB = 1024 * 1024

/** Memory of its own: what several processes of PostgreSQL share is not counted several times. */
export function measureProcesses(watched: readonly Watched[]): Figures {
  return Object.fromEntries(
    watched.flatMap(({ name, pids }) => {
      const found = pids().map(measureProcess)
      if (found.length === 0 || found.includes(null)) return []
      const sum = (read: (each: { privateKb: number; descriptors: number }) => number) =>
        found.reduce((total, each) => total + (each ? read(each) : 0), 0)
      return [
        [`memory/${name}`, round(sum(({ privateKb }) => privateKb) / 1024)],
        // PostgreSQL keeps the files of tables open, hundreds for each connection, as a cache of its own.
        ...(found.length > 1 ? [] : [[`descriptors/${name}`, sum(({ descriptors }) => descriptors)] as const]),
      ]
    }),
  )
}

/** Null: it has just ended. */
function measureProcess(pid: number): { privateKb: number; descriptors: number } | null {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    const parts = Array.from(rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm), ([, kb]) => Number(kb))
    const privateKb = parts.reduce((total, kb) => total + kb, 0)
    return { privateKb, descriptors: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    return null
  }
}

export async function measurePostgres({ query }: Pick<TestDatabase, 'query'>): Promise<Figures> {
  const [row] = await query<{ connections: number; oldest: number }>(
    `select count(*)::int as connections,
       coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 as oldest
     from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
  )
  return row ? { 'connections/all': row.connections, 'transaction/oldest': round(Math.max(0, row.oldest)) } : {}
}

/** `info`: what `INFO memory` answers. */
export function measureRedis(info: string): Figures {
  const used = /^used_memory:(\d+)/m.exec(info)?.[1]
  return used === undefined ? {} : { 'redis/used': round(Number(used) / MB) }
}

/** Partitions count for their table. `catalogue`: PostgreSQL's own tables, which grow when partitions come and go. */
export async function measureSizes({ query }: Pick<TestDatabase, 'query'>): Promise<Figures> {
  const rows = await query<{ name: string; tables: string; indexes: string }>(
    `select case when c.relnamespace = 'pg_catalog'::regnamespace then 'catalogue'
         else coalesce(p.relname, c.relname) end as name,
       sum(pg_table_size(c.oid)) as tables, sum(pg_indexes_size(c.oid)) as indexes
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
     where c.relkind = 'r' and c.relnamespace in ('public'::regnamespace, 'pg_catalog'::regnamespace) group by 1`,
  )
  return Object.fromEntries(
    rows.flatMap(({ name, tables, indexes }) => [
      [`tables/${name}`, round(Number(tables) / MB)],
      [`indexes/${name}`, round(Number(indexes) / MB)],
    ]),
  )
}

export type Series = { readonly name: string; readonly points: readonly Point[] }

export function seriesOf(samples: readonly Sample[], kind: string): readonly Series[] {
  const byName = new Map<string, Point[]>()
  for (const { seconds, figures } of samples) {
    for (const [name, value] of Object.entries(figures)) {
      if (!name.startsWith(`${kind}/`)) continue
      const short = name.slice(kind.length + 1)
      byName.set(short, [...(byName.get(short) ?? []), { seconds, value }])
    }
  }
  return [...byName].map(([name, points]) => ({ name, points }))
}

export const KILLED = 'server 2'

/** Killed and restarted again and again: their memory and descriptors are those of young processes. */
const YOUNG: readonly string[] = [KILLED, 'PostgreSQL']

export type Judged = Growth & { readonly kind: string; readonly name: string; readonly unit: string }

export function judgeSamples(samples: readonly Sample[]): readonly Judged[] {
  return KINDS.flatMap(({ name: kind, unit, allowance }) =>
    seriesOf(samples, kind)
      .filter(({ name }) => !YOUNG.includes(name))
      .map(({ name, points }) => {
        const judged = VARY_WITH_LOAD.includes(kind) ? floorOf(points, STRETCH_SECONDS) : points
        return { kind, name, unit, ...judgeGrowth(judged, allowance) }
      }),
  )
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
