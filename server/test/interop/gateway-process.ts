/** Real nginx and Caddy with the samples of deploy/ that ask /auth/verify, with this test's ports filled in. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort, onFreePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { spawnTied } from '../rig/process/tied-process.ts'
import { accepting } from './accepting.ts'

const DEPLOY = new URL('../../../deploy/', import.meta.url)

export const GATEWAYS = ['nginx', 'caddy'] as const
export type GatewayKind = (typeof GATEWAYS)[number]

export type GatewayProcess = {
  readonly address: string
  /** What the gateway's own check said of the configuration. */
  readonly checked: string
  stop(): Promise<void>
}

/** Both are host and port. */
export type Behind = { readonly latchkey: string; readonly api: string }

export const startGateway = (kind: GatewayKind, behind: Behind): Promise<GatewayProcess> =>
  onFreePort((port) => startAt(kind, port, behind))

type Commands = { readonly check: readonly [string, ...string[]]; readonly run: readonly [string, ...string[]] }

async function startAt(kind: GatewayKind, port: number, behind: Behind): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), `latchkey-${kind}-`))
  const { check, run } = prepare[kind](folder, port, behind)
  const options = { env: { PATH: process.env.PATH, HOME: folder, CADDY_ADMIN: `127.0.0.1:${await freePort()}` } }
  const [checker, ...checkArgs] = check
  const { stderr: checked } = await promisify(execFile)(checker, checkArgs, options)
  const [program, ...args] = run
  const child = spawnTied('TERM', program, args, { ...options, stdio: 'ignore' })
  const exited = once(child, 'exit')
  await Promise.race([
    accepting(`127.0.0.1:${port}`),
    exited.then(([code]) => Promise.reject(new Error(`${kind} ended with ${code}`))),
  ])
  return {
    address: `http://127.0.0.1:${port}`,
    checked,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      removeFolder(folder)
    },
  }
}

const prepare: Record<GatewayKind, (folder: string, port: number, behind: Behind) => Commands> = {
  nginx: (folder, port, behind) => {
    const sample = fillIn('nginx/forward-auth.conf', behind, { '127.0.0.1:8000': `127.0.0.1:${port}` })
    writeFileSync(join(folder, 'forward-auth.conf'), sample)
    writeFileSync(join(folder, 'nginx.conf'), nginxSurroundings())
    const command = ['/usr/sbin/nginx', '-p', folder, '-c', 'nginx.conf', '-e', 'error.log'] as const
    return { check: [...command, '-t'], run: [...command, '-g', 'daemon off;'] }
  },
  caddy: (folder, port, behind) => {
    const file = join(folder, 'Caddyfile')
    writeFileSync(file, fillIn('caddy/forward-auth.Caddyfile', behind, { ':8000 {': `:${port} {` }))
    const args = ['--config', file, '--adapter', 'caddyfile'] as const
    return { check: ['/usr/bin/caddy', 'validate', ...args], run: ['/usr/bin/caddy', 'run', ...args] }
  },
}

/** The addresses that an operator changes; each occurs in the file exactly once. */
function fillIn(file: string, { latchkey, api }: Behind, listen: Readonly<Record<string, string>>): string {
  let text = readFileSync(new URL(file, DEPLOY), 'utf8')
  for (const [place, given] of Object.entries({ '127.0.0.1:8080': latchkey, '127.0.0.1:9000': api, ...listen })) {
    const parts = text.split(place)
    if (parts.length !== 2) throw new Error(`${place} stands ${parts.length - 1} times in deploy/${file}`)
    text = parts.join(given)
  }
  return text
}

/** The role of Debian's nginx.conf. All output of nginx goes into the folder. */
function nginxSurroundings(): string {
  return [
    // Workers started by root would run as another user, without access to the folder.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'worker_processes 1;',
    'pid nginx.pid;',
    'events {}',
    'http {',
    '  access_log off;',
    ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `  ${name}_temp_path ${name};`),
    '  include forward-auth.conf;',
    '}',
  ].join('\n')
}
