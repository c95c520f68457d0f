/**
 * One process at a time, by a file that only one can create. Its owner touches it while it works; a lock that nobody touches any more,
 * or whose process on this machine is gone, belonged to one that died, and is taken away.
 */
import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { LatchkeyError } from '../errors.ts'

const TOUCH_EVERY_MS = 5_000
const STALE_AFTER_MS = 30_000
/** Longer than anybody can need for a renewal, its repetitions included. */
const GIVE_UP_AFTER_MS = 90_000
const LOOK_EVERY_MS = 50

export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const mine = `${process.pid} ${hostname()} ${randomUUID()}`
  await acquire(path, mine)
  const touching = setInterval(() => {
    const now = new Date()
    utimes(path, now, now).catch(() => {})
  }, TOUCH_EVERY_MS)
  touching.unref()
  try {
    return await work()
  } finally {
    clearInterval(touching)
    if ((await readOrNull(path)) === mine) await rm(path, { force: true })
  }
}

async function acquire(path: string, mine: string): Promise<void> {
  const until = Date.now() + GIVE_UP_AFTER_MS
  while (!(await create(path, mine))) {
    await removeIfDead(path)
    if (Date.now() > until) {
      const message = `${path} is held by another process that does not come to an end. If there is none, remove the file.`
      throw new LatchkeyError('store', { message })
    }
    await sleep(LOOK_EVERY_MS * (0.5 + Math.random()))
  }
}

/** Written first and then linked, so that nobody ever sees a lock without its owner's name. */
async function create(path: string, mine: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, mine, { mode: 0o600, flag: 'wx' })
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    return await createInPlace(path, mine)
  } finally {
    await rm(draft, { force: true })
  }
}

/** On file systems without links: for a moment the name is missing, and then the lock is as old as it is. */
async function createInPlace(path: string, mine: string): Promise<boolean> {
  try {
    await writeFile(path, mine, { mode: 0o600, flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function removeIfDead(path: string): Promise<void> {
  const owner = await readOrNull(path)
  if (owner === null || !(await isDead(path, owner))) return
  // Whoever renames it first removes it. What they got is looked at again: it may be the lock of somebody who was faster.
  const aside = `${path}.${randomUUID()}`
  try {
    await rename(path, aside)
  } catch {
    return
  }
  if ((await readOrNull(aside)) !== owner) await link(aside, path).catch(() => {})
  await rm(aside, { force: true })
}

async function isDead(path: string, owner: string): Promise<boolean> {
  const [pid, host] = owner.split(' ')
  if (host === hostname() && !isRunning(Number(pid))) return true
  try {
    return Date.now() - (await stat(path)).mtimeMs > STALE_AFTER_MS
  } catch {
    return false
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Null: there is no such file. */
export async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
