/** The migrations of this folder in a process of their own (run-migrations.ts), to the end or until it is killed. */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { spawnTied } from '../rig/process/tied-process.ts'

const PROGRAM = fileURLToPath(new URL('./run-migrations.ts', import.meta.url))

/** A column, an index and a backfill, as a later version may need them. */
const FOLDER = new URL('./migrations/', import.meta.url)

export type Kill = { readonly at: number; readonly moment: 'before' | 'during' }

/** How many statements it sent; null if it was killed before it had finished. */
export async function runMigrations(url: string, kill?: Kill): Promise<number | null> {
  const args = [PROGRAM, url, FOLDER.href, ...(kill ? [String(kill.at), kill.moment] : [])]
  const child = spawnTied('KILL', process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (data) => {
    stdout += data
  })
  child.stderr?.on('data', (data) => {
    stderr += data
  })
  const [status, signal] = await once(child, 'close')
  if (signal === 'SIGKILL') return null
  if (status !== 0) throw new Error(`the migrations ended with ${status}: ${stderr}`)
  return Number(stdout)
}
