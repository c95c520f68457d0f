/**
 * Real nginx, HAProxy and Caddy, each in a process of its own, with the reference configurations of deploy/, in
 * which only what an operator changes is changed: certificates, log paths and addresses.
 */
import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import type { Certificate } from '../rig/network/receiver.ts'
import { spawnTied } from '../rig/process/tied-process.ts'
import { accepting } from './accepting.ts'

const DEPLOY = new URL('../../../deploy/', import.meta.url)

export const PROXIES = ['nginx', 'haproxy', 'caddy'] as const
export type ProxyKind = (typeof PROXIES)[number]

export type ProxyProcess = {
  /** Output of the proxy's own check of the configuration. */
  readonly checked: string
  /** All output: logs, both streams, and files. */
  written(): string
  stop(): Promise<void>
}

/** All are host and port. The certificate is for service.example and what is below it. */
type Given = { readonly listen: string; readonly upstreams: readonly string[]; readonly certificate: Certificate }

type Prepared = {
  readonly check: readonly [string, ...string[]]
  readonly run: readonly [string, ...string[]]
  readonly environment?: Record<string, string>
}

export async function startProxy(kind: ProxyKind, given: Given): Promise<ProxyProcess> {
  const folder = mkdtempSync(join(tmpdir(), `latchkey-${kind}-`))
  const settings = mkdtempSync(join(tmpdir(), `latchkey-${kind}-settings-`))
  const { key, cert } = given.certificate
  writeFileSync(join(settings, 'pem'), cert)
  writeFileSync(join(settings, 'key'), key)
  writeFileSync(join(settings, 'bundle'), `${cert}${key}`)
  const { check, run, environment } = await prepare[kind](folder, settings, given)
  const options = { cwd: folder, env: { PATH: process.env.PATH, ...environment } }
  const [checker, ...checkArgs] = check
  const checked = await promisify(execFile)(checker, checkArgs, options)
  const [program, ...args] = run
  const child = spawnTied('TERM', program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const streams = collect(child)
  const exited = once(child, 'exit')
  const written = () => [...everyFile(folder), streams()].join('\n')
  await Promise.race([
    accepting(given.listen),
    exited.then(([code]) => Promise.reject(new Error(`${kind} ended with ${code}:\n${written()}`))),
  ])
  return {
    checked: checked.stdout + checked.stderr,
    written,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      removeFolder(folder)
      removeFolder(settings)
    },
  }
}

const prepare: Record<ProxyKind, (folder: string, settings: string, given: Given) => Promise<Prepared>> = {
  nginx: async (folder, settings, { listen, upstreams }) => {
    const reference = fillIn('nginx/latchkey.conf', {
      'listen 443 ssl;': `listen ${listen} ssl;`,
      'server 127.0.0.1:8080 max_fails=2 fail_timeout=2s;': upstreams
        .map((upstream) => `server ${upstream} max_fails=2 fail_timeout=2s;`)
        .join('\n'),
      '/etc/ssl/service.example.pem': join(settings, 'pem'),
      '/etc/ssl/service.example.key': join(settings, 'key'),
      '/var/log/nginx/latchkey.log': 'access.log',
      '/var/log/nginx/latchkey-error.log': 'latchkey-error.log',
    })
    writeFileSync(join(settings, 'latchkey.conf'), reference)
    writeFileSync(join(settings, 'nginx.conf'), nginxSurroundings())
    const args = ['-p', folder, '-c', join(settings, 'nginx.conf'), '-e', 'error.log']
    return { check: ['/usr/sbin/nginx', ...args, '-t'], run: ['/usr/sbin/nginx', ...args, '-g', 'daemon off;'] }
  },
  haproxy: async (_folder, settings, { listen, upstreams }) => {
    const reference = fillIn('haproxy/haproxy.cfg', {
      'bind :443': `bind ${listen}`,
      'server one 127.0.0.1:8080': upstreams.map((upstream, index) => `server number${index} ${upstream}`).join('\n'),
      '/etc/ssl/service.example.bundle.pem': join(settings, 'bundle'),
    })
    writeFileSync(join(settings, 'haproxy.cfg'), reference)
    const args = ['-f', join(settings, 'haproxy.cfg')]
    return { check: ['/usr/sbin/haproxy', '-c', ...args], run: ['/usr/sbin/haproxy', '-db', ...args] }
  },
  caddy: async (folder, settings, { listen, upstreams }) => {
    const port = listen.split(':')[1]
    const reference = fillIn('caddy/Caddyfile', {
      'service.example, *.service.example {': `service.example:${port}, *.service.example:${port} {`,
      'reverse_proxy 127.0.0.1:8080 {': `reverse_proxy ${upstreams.join(' ')} {`,
      '/etc/ssl/service.example.pem': join(settings, 'pem'),
      '/etc/ssl/service.example.key': join(settings, 'key'),
      '/var/log/caddy/latchkey.log': join(folder, 'access.log'),
    })
    writeFileSync(join(settings, 'Caddyfile'), reference)
    const args = ['--config', join(settings, 'Caddyfile'), '--adapter', 'caddyfile']
    return {
      check: ['/usr/bin/caddy', 'validate', ...args],
      run: ['/usr/bin/caddy', 'run', ...args],
      environment: { HOME: folder, CADDY_ADMIN: `127.0.0.1:${await freePort()}` },
    }
  },
}

/** Each occurs in the file exactly once. */
function fillIn(file: string, places: Readonly<Record<string, string>>): string {
  let text = readFileSync(new URL(file, DEPLOY), 'utf8')
  for (const [place, given] of Object.entries(places)) {
    const parts = text.split(place)
    if (parts.length !== 2) throw new Error(`${place} stands ${parts.length - 1} times in deploy/${file}`)
    text = parts.join(given)
  }
  return text
}

/** The role of Debian's nginx.conf: with an error log at the usual level. */
function nginxSurroundings(): string {
  return [
    // Workers started by root would run as another user, without access to the folder.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'worker_processes 1;',
    'pid nginx.pid;',
    'error_log error.log;',
    'events {}',
    'http {',
    '  access_log default-access.log;',
    '  gzip on;',
    ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `  ${name}_temp_path ${name};`),
    '  include latchkey.conf;',
    '}',
  ].join('\n')
}

function collect(child: ChildProcess): () => string {
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

function everyFile(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => statSync(join(folder, name)).isFile())
    .map((name) => readFileSync(join(folder, name), 'utf8'))
}
