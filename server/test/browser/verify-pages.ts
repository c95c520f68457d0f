/** `npm run verify -- pages`: every page and every answer of a form, in every language, light and dark. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const FILES = ['pages-are-accessible', 'languages', 'frames', 'what-is-loaded'].map(
  (name) => `server/test/browser/${name}.test.ts`,
)

const { status } = spawnSync('npx', ['vitest', 'run', '--project', 'browser', ...FILES, ...process.argv.slice(2)], {
  cwd: ROOT,
  env: { ...process.env, EVERY_ANSWER: 'true' },
  stdio: 'inherit',
})
process.exitCode = status ?? 1
