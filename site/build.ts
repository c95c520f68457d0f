/**
 * Builds the documentation site. Only the first build needs the network, to install the packages of package-lock.json.
 *
 *   npm run site                                       write the site to .site/
 *   SITE_URL=https://example.com/docs/ npm run site    for this address, with a sitemap
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { prepare } from './prepare.ts'

const HERE = import.meta.dirname

function run(command: string, ...args: readonly string[]): void {
  const env = { ...process.env, ASTRO_TELEMETRY_DISABLED: '1' }
  const { status, error } = spawnSync(command, args, { cwd: HERE, stdio: 'inherit', env })
  if (error) throw error
  if (status !== 0) process.exit(status ?? 1)
}

if (!existsSync(join(HERE, 'node_modules'))) run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund')
run(join(HERE, 'node_modules/.bin/typedoc'))
prepare()
run(join(HERE, 'node_modules/.bin/astro'), 'build')
