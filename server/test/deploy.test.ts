/**
 * The files under deploy/ fit the service and follow the usual rules. What can be run without a container
 * engine is run, in server/test/interop/.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { options, readConfig } from '../src/config.ts'
import { routes } from '../src/http/routes.ts'
import { createKey } from '../src/secrets/keyset.ts'
import { commandOf, copiesOf, environmentOf, isInContext, named, readDockerfile } from './rig/process/dockerfile.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const deployed = readdirSync(join(ROOT, 'deploy'), { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.(ya?ml|tpl|conf|cfg)$|file$/.test(name),
)

const variables: readonly string[] = Object.values(options).flatMap(({ env, secret }) =>
  secret ? [env, `${env}_FILE`] : [env],
)
const secretVariables = Object.values(options).flatMap(({ env, secret }) => (secret ? [env] : []))

/** docs/operations/upgrade.md, "Drain and rolling restart". */
const AFTER_DRAIN_SECONDS = 40

test('every health route used under deploy/ exists', () => {
  const paths = routes.map(({ path }) => path)
  const asked = deployed.flatMap((name) => read(`deploy/${name}`).match(/\/health\/\w+/g) ?? [])
  expect(asked.length).toBeGreaterThan(5)
  expect(asked.filter((path) => !paths.includes(path))).toEqual([])
})

describe('the container', () => {
  const stages = readDockerfile(read('deploy/container/Dockerfile'))
  const ignored = read('.dockerignore')
  const last = stages.at(-1)
  if (!last) throw new Error('deploy/container/Dockerfile has no stage')

  test('uses one exact release of Node in every stage, the project’s own', () => {
    const bases = new Set(stages.map(({ base }) => base))
    expect(bases.size).toBe(1)
    expect([...bases][0]).toMatch(
      new RegExp(`^node:${read('.node-version').trim()}\\.\\d+\\.\\d+-[a-z]+-slim(@sha256:[0-9a-f]{64})?$`),
    )
  })

  test('installs from the lockfile and fetches nothing else', () => {
    const every = stages.flatMap(({ instructions }) => instructions)
    expect(every.map(({ name }) => name)).not.toContain('ADD')
    const runs = every.filter(({ name }) => name === 'RUN').map(({ rest }) => rest)
    expect(runs.filter((run) => !/^(npm (ci|run build)\b|ln -s )/.test(run))).toEqual([])
  })

  test('runs as an unprivileged user, set as the last step', () => {
    expect(named(last, 'USER').map(({ rest }) => rest)).toEqual(['1000:1000'])
    const after = last.instructions.slice(last.instructions.findIndex(({ name }) => name === 'USER') + 1)
    expect(after.filter(({ name }) => ['COPY', 'RUN', 'WORKDIR', 'USER'].includes(name))).toEqual([])
  })

  test('has no shell between a signal and the process, and none for its health check', () => {
    expect(commandOf(last, 'ENTRYPOINT')).toEqual(['node', '--disable-sigusr1', 'server/dist/latchkey.js'])
    expect(commandOf(last, 'CMD')).toEqual(['serve'])
    expect(commandOf(last, 'HEALTHCHECK')[0]).toBe('node')
  })

  test('has the command latchkey on its path, executable', () => {
    const [link = ''] = named(last, 'RUN').map(({ rest }) => rest)
    expect(link).toBe('ln -s /latchkey/server/dist/latchkey.js /usr/local/bin/latchkey')
    expect(stages.flatMap((stage) => named(stage, 'RUN')).map(({ rest }) => rest)).toContain(
      'npm run build && chmod +x server/dist/latchkey.js',
    )
    expect(read('server/src/latchkey.ts')).toMatch(/^#!\/usr\/bin\/env node\n/)
  })

  test('says by labels what it contains', () => {
    const [labels = ''] = named(last, 'LABEL').map(({ rest }) => rest)
    const { description } = parse(read('deploy/helm/latchkey/Chart.yaml'))
    expect(
      Object.fromEntries(Array.from(labels.matchAll(/image\.(\w+)="([^"]+)"/g), ([, name, value]) => [name, value])),
    ).toEqual({
      title: 'Latchkey',
      description,
      licenses: JSON.parse(read('server/package.json')).license,
    })
  })

  test('holds no secret, and sets only what the service knows', () => {
    expect(stages.flatMap((stage) => named(stage, 'ARG'))).toEqual([])
    const names = stages.flatMap((stage) => Object.keys(environmentOf(stage)))
    expect(names.filter((name) => name !== 'NODE_ENV' && !variables.includes(name))).toEqual([])
    expect(names.filter((name) => secretVariables.includes(name))).toEqual([])
    expect(named(last, 'EXPOSE').map(({ rest }) => rest)).toEqual([environmentOf(last).PORT])
  })

  test('copies existing files, and its context has only what it copies', () => {
    const copied = stages.flatMap(copiesOf).flatMap(({ from, sources }) => (from === null ? sources : []))
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
    expect(copied.filter((path) => !isInContext(ignored, path))).toEqual([])
    const admitted = ignored.split('\n').flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
    expect(admitted.sort()).toEqual([...new Set(copied)].sort())
    const outside = [
      '.git/config',
      '.engines/dev.env',
      'node_modules/pg/package.json',
      'server/test/docs.test.ts',
      '.npmrc',
    ]
    expect(outside.filter((path) => isInContext(ignored, path))).toEqual([])
  })
})

type ComposeService = {
  readonly image?: string
  readonly environment?: Record<string, string>
  readonly ports?: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly cap_add?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly ulimits?: Readonly<Record<string, number>>
  readonly stop_grace_period?: string
  readonly depends_on?: Readonly<Record<string, { condition: string }>>
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly volumes?: readonly string[]
}

describe('compose', () => {
  const compose: { services: Record<string, ComposeService>; volumes: Record<string, null> } = parse(
    read('deploy/compose.yaml'),
    { merge: true },
  )
  const services = Object.entries(compose.services)
  const ours = services.filter(([, { image }]) => image === 'latchkey')

  test('pins the release of every image that is not built here', () => {
    const others = services.filter(([, { image }]) => image !== 'latchkey').map(([, { image = '' }]) => image)
    expect(others).toHaveLength(3)
    expect(others.filter((image) => !/^[a-z/]+:v?\d/.test(image))).toEqual([])
  })

  test('publishes ports on localhost only', () => {
    const ports = services.flatMap(([, each]) => each.ports ?? [])
    expect(ports.length).toBeGreaterThan(0)
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
  })

  test('has a read-only service without capabilities', () => {
    expect(ours.map(([name]) => name)).toEqual(['key', 'migrate', 'latchkey'])
    for (const [name, each] of ours) {
      expect([each.read_only, each.cap_drop, each.security_opt]).toEqual([true, ['ALL'], ['no-new-privileges:true']])
      expect(each.cap_add ?? []).toEqual(name === 'key' ? ['CHOWN'] : [])
      expect(each.volumes).toEqual([name === 'key' ? 'keys:/keys' : 'keys:/keys:ro'])
    }
  })

  test('AP-03: lets the service write no core dump', () => {
    expect(ours.map(([, { ulimits }]) => ulimits)).toEqual(ours.map(() => ({ core: 0 })))
  })

  test('gives the service a valid configuration', () => {
    const { LATCHKEY_KEYS_FILE, ...environment } = compose.services.latchkey?.environment ?? {}
    expect(LATCHKEY_KEYS_FILE).toMatch(/^\/keys\//)
    expect(Object.keys(environment).filter((name) => !variables.includes(name))).toEqual([])
    const config = readConfig(['databaseUrl', 'redisUrl', 'publicUrl', 'smtpUrl', 'mailFrom', 'keys', 'port'], {
      ...environment,
      LATCHKEY_KEYS: createKey(1),
    })
    expect(new URL(config.publicUrl).port).toBe(String(config.port))
    expect(compose.services.latchkey?.ports).toEqual([`127.0.0.1:${config.port}:${config.port}`])
    const hosts = [config.databaseUrl, config.redisUrl, config.smtpUrl].map((url) => new URL(url ?? '').hostname)
    expect(hosts.filter((host) => !(host in compose.services))).toEqual([])
  })

  test('starts dependencies in a valid order', () => {
    const waits = services.flatMap(([, { depends_on = {} }]) => Object.entries(depends_on))
    const healthy = waits.filter(([, { condition }]) => condition === 'service_healthy')
    expect(waits.filter(([name]) => !(name in compose.services))).toEqual([])
    expect(healthy.filter(([name]) => !compose.services[name]?.healthcheck)).toEqual([])
  })

  test('asks PostgreSQL over TCP, which the first start of its image opens last', () => {
    const test = compose.services.postgres?.healthcheck?.test
    expect(test?.slice(0, 4)).toEqual(['CMD', 'pg_isready', '--host', '127.0.0.1'])
  })

  test('lets the service drain before it is killed', () => {
    const seconds = Number(compose.services.latchkey?.stop_grace_period?.replace(/s$/, ''))
    expect(seconds).toBeGreaterThanOrEqual(Number(options.drainMs.fallback) + AFTER_DRAIN_SECONDS)
  })
})

test('systemd starts what the container starts, on all processors, with settings that the service knows, and lets it drain', () => {
  const unit = read('deploy/systemd/latchkey.service')
  const lines = Array.from(unit.matchAll(/^(\w+)=(.*)$/gm), ([, name = '', value = '']) => ({ name, value }))
  const valuesOf = (wanted: string) => lines.filter(({ name }) => name === wanted).map(({ value }) => value)
  const last = readDockerfile(read('deploy/container/Dockerfile')).at(-1)
  if (!last) throw new Error('deploy/container/Dockerfile has no stage')
  const command = [...commandOf(last, 'ENTRYPOINT'), ...commandOf(last, 'CMD')].join(' ')
  expect(valuesOf('ExecStart')).toEqual([`/usr/bin/${command} --processes max`])
  expect(valuesOf('ExecReload')).toEqual([`/usr/bin/node -e "process.kill(process.env.MAINPID, 'SIGHUP')"`])
  const names = valuesOf('Environment').flatMap((value) => value.split(' ').map((pair) => pair.split('=')[0] ?? ''))
  expect(names.filter((name) => name !== 'NODE_ENV' && !variables.includes(name))).toEqual([])
  const wait = Number(options.drainMs.fallback) + AFTER_DRAIN_SECONDS
  expect(Number(valuesOf('TimeoutStopSec')[0])).toBeGreaterThanOrEqual(wait)
  expect([valuesOf('DynamicUser'), valuesOf('ProtectSystem'), valuesOf('CapabilityBoundingSet')]).toEqual([
    ['yes'],
    ['strict'],
    [''],
  ])
})

test('systemd lets the service write the journal of the documentation, and nothing else', () => {
  const folder = /^StateDirectory=(.*)$/m.exec(read('deploy/systemd/latchkey.service'))?.[1]
  expect(read('docs/operations/backup.md')).toContain(`REVOCATION_JOURNAL=/var/lib/${folder}/`)
  expect(options.revocationJournal.example).toContain(`/var/lib/${folder}/`)
})

describe('the command line on one machine', () => {
  const script = read('deploy/systemd/latchkey')
  const unit = read('deploy/systemd/latchkey.service')

  test('has the settings, the secrets and the program of the unit', () => {
    expect(script).toContain(`--env-file=${/^EnvironmentFile=(.*)$/m.exec(unit)?.[1]} `)
    const program = `${/^WorkingDirectory=(.*)$/m.exec(unit)?.[1]}/server/dist/latchkey.js`
    expect(script).toContain(`${program} "$@"`)
    const given = Array.from(script.matchAll(/\b([A-Z_]+):([a-z-]+)\b/g), ([, name = '', file]) => [name, file])
    expect(given.map(([name]) => name).sort()).toEqual(secretVariables.toSorted())
    const loaded = Array.from(unit.matchAll(/^LoadCredential=(\S+):\/etc\/latchkey\/(\S+)$/gm), ([, , file]) => file)
    expect(loaded.filter((file) => !given.some(([, each]) => each === file))).toEqual([])
  })

  test('is a valid script, and executable', () => {
    expect(() => execFileSync('sh', ['-n', join(ROOT, 'deploy/systemd/latchkey')])).not.toThrow()
    expect(statSync(join(ROOT, 'deploy/systemd/latchkey')).mode & 0o111).toBe(0o111)
  })
})

test('systemd has started the service when it listens', () => {
  expect(read('deploy/systemd/latchkey.service')).toMatch(/^ExecStartPost=\/usr\/bin\/node -e ".*node:net.*"$/m)
})

test('AP-03: systemd lets the service write no core dump', () => {
  expect(read('deploy/systemd/latchkey.service')).toMatch(/^LimitCORE=0$/m)
})

test('AP-23: no proxy of ours listens without TLS, and none redirects', () => {
  const nginx = read('deploy/nginx/latchkey.conf')
  expect(nginx.match(/^\s*listen .*$/gm)).toEqual(['    listen 443 ssl;'])
  expect(nginx).not.toMatch(/^\s*(return|rewrite) /m)
  const haproxy = read('deploy/haproxy/haproxy.cfg')
  expect(haproxy.match(/^\s*bind .*$/gm)?.map((line) => / ssl /.test(line))).toEqual([true])
  expect(haproxy).not.toMatch(/^\s*(http-request )?redirect /m)
  const caddy = read('deploy/caddy/Caddyfile')
  expect(caddy).toMatch(/^\tauto_https disable_redirects$/m)
  expect(caddy).not.toMatch(/http:\/\/|:80\b|^\s*redir /m)
})
