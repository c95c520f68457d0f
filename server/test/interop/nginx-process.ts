/** A real nginx with deploy/nginx/forward-auth.conf, with this test's ports filled in. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onFreePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { spawnTied } from '../rig/process/tied-process.ts'
import { accepting } from './accepting.ts'

const NGINX = '/usr/sbin/nginx'

export const REFERENCE = new URL('../../../deploy/nginx/forward-auth.conf', import.meta.url)

export type NginxProcess = {
  readonly address: string
  /** What `nginx -t` said of the configuration. */
  readonly checked: string
  log(): string
  stop(): Promise<void>
}

/** Both are host and port. */
export type Behind = { readonly latchkey: string; readonly api: string }

export const startNginx = (behind: Behind): Promise<NginxProcess> =>
  onFreePort((port) => startNginxAt(`127.0.0.1:${port}`, behind))

async function startNginxAt(listen: string, behind: Behind): Promise<NginxProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-nginx-'))
  writeFileSync(join(folder, 'forward-auth.conf'), fillIn({ ...behind, listen }))
  writeFileSync(join(folder, 'nginx.conf'), surroundings())
  const args = ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log']
  const { stderr: checked } = await promisify(execFile)(NGINX, [...args, '-t'])
  const child = spawnTied('TERM', NGINX, [...args, '-g', 'daemon off;'], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  const log = () => readFileSync(join(folder, 'error.log'), 'utf8')
  await Promise.race([
    accepting(listen),
    exited.then(([code]) => Promise.reject(new Error(`nginx ended with ${code}:\n${log()}`))),
  ])
  return {
    address: `http://${listen}`,
    checked,
    log,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      removeFolder(folder)
    },
  }
}

/** The addresses that an operator changes; each occurs in the file exactly once. */
function fillIn(ports: Behind & { readonly listen: string }): string {
  const places = { '127.0.0.1:8080': ports.latchkey, '127.0.0.1:9000': ports.api, '127.0.0.1:8000': ports.listen }
  let text = readFileSync(REFERENCE, 'utf8')
  for (const [place, port] of Object.entries(places)) {
    const parts = text.split(place)
    if (parts.length !== 2) throw new Error(`${place} stands ${parts.length - 1} times in ${REFERENCE.pathname}`)
    text = parts.join(port)
  }
  return text
}

/** The role of Debian's nginx.conf. All output of nginx goes into the folder. */
function surroundings(): string {
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
