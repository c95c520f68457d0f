/** SC-04, SC-09: what other programs on the machine, and whoever reaches its ports, learn from a running server. */
import { globSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { post } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { TEST_KEYS } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const SMTP_PASSWORD = 'canary-of-the-mail-server'
const ROOT = join(import.meta.dirname, '..', '..', '..', '..')

let service: TestService
let server: ServerProcess
let folder: string
let metricsPort: number
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  folder = mkdtempSync(join(tmpdir(), 'latchkey-secrets-'))
  metricsPort = await freePort()
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o400 })
    return join(folder, name)
  }
  server = await startServerProcess({
    LATCHKEY_KEYS: '',
    LATCHKEY_KEYS_FILE: file('keys', TEST_KEYS),
    DATABASE_URL_FILE: file('database-url', service.database.url),
    REDIS_URL_FILE: file('redis-url', engineUrl('REDIS_URL')),
    SMTP_URL_FILE: file('smtp-url', `smtp://latchkey:${SMTP_PASSWORD}@127.0.0.1:1`),
    MAIL_FROM: 'no-reply@service.example',
    METRICS_PORT: String(metricsPort),
  })
})
afterAll(async () => {
  await server?.kill('SIGTERM')
  await service?.stop()
  removeFolder(folder)
})

/** Ports on which a process listens. */
function listeningPorts(pid: number): number[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]
      } catch {
        return undefined
      }
    }),
  )
  const lines = ['tcp', 'tcp6'].flatMap((table) => readFileSync(`/proc/net/${table}`, 'utf8').split('\n').slice(1))
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
    return state === '0A' && inodes.has(inode) ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : []
  })
}

describe('SC-04: a debugger, a heap or a dump', () => {
  it('SC-04: the server listens on its own port and on that of the metrics, and on no other', () => {
    expect(listeningPorts(server.pid).sort()).toEqual([Number(new URL(server.address).port), metricsPort].sort())
  })

  it('SC-04: neither port has an address for debugging', async () => {
    const paths = [
      ...['/json', '/json/list', '/json/version', '/debug', '/debug/pprof/heap', '/debug/vars', '/inspector'],
      ...['/heap', '/heapdump', '/heapsnapshot', '/dump', '/core', '/trace', '/status', '/info', '/env', '/config'],
      ...[
        '/actuator',
        '/actuator/heapdump',
        '/server-status',
        '/console',
        '/admin',
        '/phpinfo.php',
        '/.env',
        '/.git/HEAD',
      ],
      ...['/package.json', '/server/dist/latchkey.js', '/node_modules/', '/keys', '/swagger', '/graphql'],
    ]
    for (const address of [server.address, `http://127.0.0.1:${metricsPort}`]) {
      const found = await Promise.all(
        paths.map(async (path) => [path, (await post(address, path, { method: 'GET' })).status] as const),
      )
      expect(found.filter(([, status]) => status !== 404)).toEqual([])
    }
    expect((await post(server.address, '/metrics', { method: 'GET' })).status).toBe(404)
  })
})

describe('SC-09: a secret that was given as a file', () => {
  it('SC-09: is neither in the environment nor in the arguments of the process, nor in its log', () => {
    const { password } = new URL(service.database.url)
    const secrets = [
      TEST_KEYS.split(':')[1] ?? '',
      SMTP_PASSWORD,
      service.database.url,
      engineUrl('REDIS_URL'),
      password,
    ]
    const shown = ['environ', 'cmdline'].map((name) => readFileSync(`/proc/${server.pid}/${name}`, 'latin1'))
    expect(shown[0]).toContain('LATCHKEY_KEYS_FILE=')
    for (const text of [...shown, server.log()]) {
      expect(secrets.filter((secret) => secret !== '' && text.includes(secret))).toEqual([])
    }
  })

  it('SC-09: no command takes a secret as an argument', () => {
    const sources = globSync('server/src/cli/**/*.ts', { cwd: ROOT }).map((file) =>
      readFileSync(join(ROOT, file), 'utf8'),
    )
    const options = sources.join('\n').match(/'--[\w-]+ [<[][^>\]]+/g) ?? []
    expect(options.length).toBeGreaterThan(20)
    const values = options.filter((option) => !/^'--[\w-]+-file /.test(option))
    expect(values.filter((option) => /secret|password|token|pem|database|redis|smtp/i.test(option))).toEqual([])
  })

  it.each([
    ['deploy/systemd/latchkey.service', /LoadCredential=keys:.*\n.*LoadCredential=database-url:/],
    ['deploy/compose.yaml', /LATCHKEY_KEYS_FILE: \/keys\/latchkey/],
  ])('SC-09: %s gives the server its key as a file', (path, as) => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    expect(text).toMatch(as)
    expect(text).not.toMatch(/LATCHKEY_KEYS[=:]/)
  })
})
