/**
 * Lock file: exclusive between processes, because only one can create it. Its owner updates the modification time while
 * it works. A lock that is no longer updated, or whose process on this machine is gone, is stale and is removed.
 */
import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { LatchkeyError } from '../errors.ts'

const TOUCH_EVERY_MS = 5_000
const STALE_AFTER_MS = 30_000
/** Longer than any renewal takes, retries included. */
const GIVE_UP_AFTER_MS = 90_000
const CHECK_EVERY_MS = 50

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
    await sleep(CHECK_EVERY_MS * (0.5 + Math.random()))
  }
}

/** Writes the owner to a draft and hard-links it into place, so that no process ever sees a lock without its owner. */
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

/** For file systems without hard links. For a moment the file has no owner in it; only its age counts then. */
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
  // Only the process whose rename succeeds removes the lock. It reads the renamed file again: another process may have
  // replaced the stale lock by its own in between, and that one is linked back.
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

/** Null if the file does not exist. */
export async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
