/**
 * Processor time of a poll in three cells, compared with the same servers as one installation without cells: six processes each,
 * behind HAProxy each, in alternating rounds, so that only the cells differ and whatever else the machine does meets both.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { endedChildrenSeconds, processorSeconds } from '../../../../bench/plan/processor-time.ts'
import { startProxy } from '../../../../bench/plan/proxy.ts'
import { createRedis } from '../../../../tools/engine-processes.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { closeContext, createContext } from '../../../src/app.ts'
import { openPostgres } from '../../../src/store/postgres/postgres.ts'
import { startOwnPostgres } from '../../rig/engines/own-postgres.ts'
import { makeAccount, makeApplication, makeConfig } from '../../rig/make.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { placePendingCodes } from '../../scale/pending-codes.ts'
import { type Load, runLoad } from '../../scale/poll-load.ts'
import type { Harness } from './harness.ts'
import { round, type WaitingCode } from './waiting-codes.ts'

const PROCESSES = 6

/** Codes of each cell that are polled: each again and again, so that most polls end at the gate. */
const POLLED = 1_000

/** More processor time than in one installation. */
const MAX_INCREASE = 0.05

export type Spent = Readonly<Record<'server' | 'redis' | 'postgres' | 'haproxy', number>>

/** One of the two installations. */
type Arm = { readonly load: Omit<Load, 'seconds'>; spent(): Spent }

export type Round = { readonly polls: number; readonly seconds: number; readonly spent: Spent }

export async function compareCost(
  harness: Harness,
  polled: readonly (readonly WaitingCode[])[],
  rounds: number,
  seconds: number,
) {
  const texts = polled.flatMap((codes) => codes.slice(0, POLLED).map(({ deviceCode }) => deviceCode))
  return withSingle(join(harness.folder, 'single'), texts.length, async (single) => {
    const cells = cellsArm(harness, texts)
    // Most of the code is compiled only now.
    for (const arm of [cells, single]) await runRound(arm, 2 * seconds)
    const measured: { readonly cells: Round; readonly single: Round }[] = []
    for (let turn = 0; turn < rounds; turn += 1) {
      // Which one is first alternates, too.
      const first = turn % 2 === 0 ? await runRound(cells, seconds) : null
      const one = await runRound(single, seconds)
      measured.push({ cells: first ?? (await runRound(cells, seconds)), single: one })
    }
    const each = (read: (turn: (typeof measured)[number]) => Round) => measured.map((turn) => microseconds(read(turn)))
    const [inCells, alone] = [each((turn) => turn.cells), each((turn) => turn.single)]
    const ratio = median(inCells) / median(alone)
    // Allowance for chance: half of the larger spread between rounds of the same installation.
    const noise = Math.max(spreadOf(inCells), spreadOf(alone)) / 2
    const most = 1 + MAX_INCREASE + noise
    const haproxy = measured.map(({ cells: { spent, polls } }) => (spent.haproxy * 1e6) / polls)
    return {
      rounds: { cells: measured.map((turn) => turn.cells), single: measured.map((turn) => turn.single) },
      polledCodes: texts.length,
      result: {
        step: 'processor time of a poll',
        cells_microseconds: inCells.map((value) => round(value)),
        single_microseconds: alone.map((value) => round(value)),
        ratio: round(ratio, 3),
        spreads: [inCells, alone].map((values) => round(spreadOf(values), 3)),
        most: round(most, 3),
        haproxy_microseconds: round(median(haproxy)),
        polls_per_second: measured.map(({ cells: { polls, seconds: took } }) => Math.round(polls / took)),
        missed:
          ratio > most ? [`a poll takes ${round(ratio, 3)} times the processor time of a single installation`] : [],
      },
    }
  })
}

const microseconds = ({ spent, polls }: Round) => (spent.server * 1e6) / polls

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

/** Difference of the quartiles, as a part of the median. */
function spreadOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return (at(0.75) - at(0.25)) / median(values)
}

async function runRound({ load, spent }: Arm, seconds: number): Promise<Round> {
  const before = spent()
  const { polls, seconds: took, answers } = await runLoad({ ...load, seconds })
  const after = spent()
  const wrong = [...answers.keys()].filter((word) => word !== 'auth_pending' && word !== 'slow_down')
  if (wrong.length > 0) throw new Error(`polls were answered ${wrong.join(', ')}`)
  const of = (part: keyof Spent) => after[part] - before[part]
  const parts = { server: of('server'), redis: of('redis'), postgres: of('postgres'), haproxy: of('haproxy') }
  return { polls, seconds: took, spent: parts }
}

/** Connections of PostgreSQL end and begin. */
const secondsOfPostgres = (pids: readonly number[]) => processorSeconds(pids) + endedChildrenSeconds(pids[0] ?? 0)

function cellsArm({ address, application, cells, proxyPids }: Harness, texts: readonly string[]): Arm {
  return {
    load: { address, application, texts: shared(texts.join('')), textLength: texts[0]?.length ?? 0 },
    spent: () => ({
      server: processorSeconds(cells.flatMap(({ servers }) => servers.map(({ pid }) => pid))),
      redis: processorSeconds(cells.map(({ redis }) => redis.pid() ?? 0)),
      postgres: cells.reduce((sum, { postgres }) => sum + secondsOfPostgres(postgres.pids()), 0),
      haproxy: processorSeconds(proxyPids()),
    }),
  }
}

function shared(text: string): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(text.length)
  Buffer.from(buffer).write(text, 'latin1')
  return buffer
}

/** An installation without cells. */
async function withSingle<T>(folder: string, codeCount: number, work: (single: Arm) => Promise<T>): Promise<T> {
  const stops: (() => unknown)[] = []
  try {
    const postgres = await startOwnPostgres()
    stops.push(() => postgres.remove())
    mkdirSync(folder)
    const redis = createRedis(folder, await freePort())
    redis.start()
    stops.push(() => redis.stop('SIGKILL'))
    const environment = {
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      PUBLIC_URL: 'http://service.example',
      TRUST_PROXY: '127.0.0.1',
      DEVICE_CODE_LIFETIME: '3600',
    }
    const { application, codes } = await placeInSingle(environment, codeCount)
    const servers = await Promise.all(Array.from({ length: PROCESSES }, () => startServerProcess(environment)))
    stops.push(() => Promise.all(servers.map((server) => server.kill('SIGKILL'))))
    const proxy = await startProxy(
      folder,
      servers.map(({ address }) => address),
    )
    stops.push(() => proxy.stop())
    return await work({
      load: { address: proxy.address, application, ...codes },
      spent: () => ({
        server: processorSeconds(servers.map(({ pid }) => pid)),
        redis: processorSeconds([redis.pid() ?? 0]),
        postgres: secondsOfPostgres(postgres.pids()),
        haproxy: processorSeconds([proxy.pid]),
      }),
    })
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
}

async function placeInSingle(environment: Record<string, string>, count: number) {
  const config = makeConfig(environment)
  const context = await createContext(config)
  const db = openPostgres(config.databaseUrl, 2)
  try {
    const application = await makeApplication(db, config, (await makeAccount(db)).slug)
    // biome-ignore lint/suspicious/noExplicitAny: rows of statements of other modules
    const query = async (sql: string, values?: unknown[]): Promise<any[]> => (await db.query(sql, values)).rows
    return { application, codes: (await placePendingCodes(context, { query }, application.id, count)).codes }
  } finally {
    await db.close()
    await closeContext(context)
  }
}
