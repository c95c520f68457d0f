/**
 * docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md: on a copy of the disk that is put back. `npm run verify -- restore` does
 * the same with the commands of docs/operations/backup.md.
 */
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { closeContext, createContext } from '../../../src/app.ts'
import type { Context } from '../../../src/flows/context.ts'
import { readOverview } from '../../../src/flows/operator/overview.ts'
import { finishRestore } from '../../../src/flows/restore/operate.ts'
import { Device, post } from '../../rig/device.ts'
import { type LosingPostgres, startLosingPostgres, type Way } from '../../rig/engines/losing-postgres.ts'
import { makeAccount, makeApplication, makeConfig } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { RestoredScene } from './restored-scene.ts'

const SOON = { timeout: 30_000, interval: 100 }
const SIZE = 3

type Fleet = {
  readonly postgres: LosingPostgres
  readonly context: Context
  readonly journal: string
  start(): Promise<ServerProcess>
}

const cleaning: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const clean of cleaning.splice(0).reverse()) await clean()
})

async function startFleet(way: Way, journalled: boolean): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-restore-'))
  chmodSync(folder, 0o755)
  cleaning.push(() => removeFolder(folder))
  const journal = join(folder, 'revocations.jsonl')
  const postgres = await startLosingPostgres(way)
  cleaning.push(postgres.remove)
  const settings = {
    DATABASE_URL: postgres.url,
    POLL_INTERVAL: '1',
    ...(journalled ? { REVOCATION_JOURNAL: journal } : {}),
  }
  const context = await createContext(makeConfig(settings))
  cleaning.push(() => closeContext(context))
  const start = async () => {
    const server = await startServerProcess(settings)
    cleaning.push(() => server.kill('SIGKILL'))
    return server
  }
  return { postgres, context, journal, start }
}

const ready = async ({ address }: ServerProcess) =>
  (await post(address, '/health/ready', { method: 'GET' })).body as Record<string, string>

const finish = ({ db, journal, config: { keys } }: Context) => finishRestore(db, { own: journal, files: [], keys }, [])

const answers = (context: Context) => () =>
  context.db.query('select').then(
    () => true,
    () => false,
  )

it.each<[string, boolean]>([
  ['of a service that is stopped meanwhile', true],
  ['of a service that keeps running', false],
])(
  'F36: after a restore %s, revoked stays revoked, spent stays spent and suspended stays suspended',
  async (_, stopped) => {
    const { postgres, context, journal, start } = await startFleet('a restored copy of the disk', true)
    const before = await start()
    const scene = await RestoredScene.make(context, before.address, SIZE)
    await postgres.keep()
    await expect.poll(answers(context), SOON).toBe(true)
    await scene.endInLostTime(before.address)
    const written = readFileSync(journal, 'utf8')
    expect(written).not.toContain(scene.application.secret)
    if (stopped) await before.kill('SIGTERM')
    await postgres.lose()
    await expect.poll(answers(context), SOON).toBe(true)
    const server = stopped ? await start() : before
    await expect.poll(() => server.log(), SOON).toContain('"event":"restored"')
    // The change reaches what a process remembers within a second.
    await sleep(3_000)
    expect(await scene.lookAfterwards(server.address)).toEqual({
      revokedStay: { held: SIZE, of: SIZE },
      spentStay: { held: 2 * SIZE, of: 2 * SIZE },
      suspendedStay: { held: SIZE, of: SIZE },
      disabledStay: { held: 1, of: 1 },
      dismissedStay: { held: 1, of: 1 },
      wronglyEnded: 0,
      successorsRefused: 0,
    })
    expect(await ready(server)).toMatchObject({ status: 'ready', restore: 'unfinished' })
    const { restore } = (await readOverview(context)).attention
    expect(restore).toMatchObject({ journalled: true, lostGrants: SIZE })

    // The journal is applied once: a process that starts later does not apply it again.
    const later = await start()
    expect(later.log()).not.toContain('"event":"restored"')
    expect(await finish(context)).toEqual({ repeated: {}, finished: 1, toAccept: [] })
    expect(await ready(later)).not.toHaveProperty('restore')
  },
)

it('F36: without a journal, a restore is stated with what cannot be known', async () => {
  const { postgres, context, start } = await startFleet('a promoted standby', false)
  const server = await start()
  expect(await ready(server)).not.toHaveProperty('restore')
  const account = await makeAccount(context.db)
  const application = await makeApplication(context.db, context.config, account.slug)
  const requested = async () => (await new Device(server.address, application).request()).status
  await expect.poll(requested, SOON).toBe(200)
  await postgres.keep()
  await expect.poll(requested, SOON).toBe(200)
  await postgres.lose()
  await expect.poll(async () => (await ready(server)).restore, SOON).toBe('unfinished')
  const { restore } = (await readOverview(context)).attention
  expect(restore).toMatchObject({ journalled: false, lostGrants: 0 })
  expect(await finish(context)).toEqual({ repeated: {}, finished: 1, toAccept: [] })
  expect((await readOverview(context)).attention.restore).toBeNull()
})
