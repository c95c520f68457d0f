/** One PostgreSQL and one Redis process, each in its own folder: start, find, stop, kill. */
import { execFileSync, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeFolder } from './remove-folder.ts'

const DATABASE = 'latchkey'

export type EngineProcess = {
  readonly url: string
  /** Returns when the process is ready. Does nothing if it is already running. */
  start(): void
  pid(): number | null
}

export type PostgresProcess = EngineProcess & {
  /** Its data directory. */
  readonly data: string
  stop(mode: 'fast' | 'immediate'): void
}

export function createPostgres(folder: string, port: number): PostgresProcess {
  const own = reachableByPostgres(folder)
    ? folder
    : join(tmpdir(), `latchkey-engines-${hash('sha1', folder).slice(0, 8)}`)
  const data = join(own, 'postgres')
  const sockets = join(own, 'sockets')

  const initialise = () => {
    removeFolder(data)
    for (const each of [data, sockets]) mkdirSync(each, { recursive: true, mode: 0o700 })
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', 'postgres', data, sockets])
    asPostgres('initdb', '-D', data, '-U', 'latchkey', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8')
  }

  return {
    url: `postgres://latchkey@127.0.0.1:${port}/${DATABASE}`,
    data,
    start: () => {
      if (!existsSync(join(data, 'PG_VERSION'))) initialise()
      if (succeeds('pg_ctl', '-D', data, 'status')) return
      const settings = `-p ${port} -h 127.0.0.1 -k ${sockets} -c max_connections=300 -c shared_buffers=256MB`
      asPostgres('pg_ctl', '-D', data, '-o', settings, '-l', join(data, 'server.log'), '-w', 'start')
      const at = ['-h', '127.0.0.1', '-p', String(port), '-U', 'latchkey']
      const databases = asPostgres('psql', ...at, '-d', 'postgres', '-Atc', 'select datname from pg_database')
      if (!databases.split('\n').includes(DATABASE)) asPostgres('createdb', ...at, DATABASE)
    },
    pid: () => readPid(join(data, 'postmaster.pid')),
    stop: (mode) => {
      if (existsSync(data)) succeeds('pg_ctl', '-D', data, '-m', mode, '-w', 'stop')
    },
  }
}

/** Root runs PostgreSQL as another user; if that user cannot access the folder, a temporary folder is used. */
function reachableByPostgres(folder: string): boolean {
  if (process.getuid?.() !== 0) return true
  return (
    spawnSync('runuser', ['-u', 'postgres', '--', 'test', '-x', folder], { stdio: 'ignore', cwd: '/' }).status === 0
  )
}

function asPostgres(program: string, ...args: string[]): string {
  const [file = '', ...rest] = postgresCommand(program, args)
  // Not inherited: a background server must not keep the caller's pipes open.
  return execFileSync(file, rest, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' })
}

function succeeds(program: string, ...args: string[]): boolean {
  const [file = '', ...rest] = postgresCommand(program, args)
  return spawnSync(file, rest, { stdio: 'ignore', cwd: '/' }).status === 0
}

/**
 * One of PostgreSQL's own programs. PostgreSQL refuses to run as root, so root runs it as the user that Debian's package
 * creates.
 */
export function postgresCommand(program: string, args: string[]): string[] {
  const path = postgresProgram(program)
  return process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--', path, ...args] : [path, ...args]
}

/** Of the folder POSTGRES_BIN, if it has the program; else of the newest PostgreSQL that is installed. */
export function postgresProgram(name: string): string {
  const chosen = process.env.POSTGRES_BIN && join(process.env.POSTGRES_BIN, name)
  return chosen && existsSync(chosen) ? chosen : join(postgresFolder(), name)
}

/** Debian installs each major version in its own folder; elsewhere `pg_config` prints the folder. */
export function postgresFolder(): string {
  const debian = '/usr/lib/postgresql'
  const [newest] = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  return newest ? join(debian, newest, 'bin') : execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim()
}

export function createRedis(folder: string, port: number): EngineProcess & { stop(signal: NodeJS.Signals): void } {
  const pidFile = join(folder, 'redis.pid')
  // A stale pid may belong to another program; Redis shows its port in the process title.
  const runs = (pid: number) => titleOf(pid).includes(`redis-server 127.0.0.1:${port}`)
  const pid = () => {
    const known = readPid(pidFile)
    return known !== null && runs(known) ? known : null
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    start: () => {
      if (pid() !== null) return
      const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
      const files = ['--dir', folder, '--pidfile', pidFile, '--logfile', join(folder, 'redis.log')]
      execFileSync('redis-server', [...settings, ...files, '--daemonize', 'yes'], { stdio: 'ignore' })
      for (let attempt = 0; attempt < 100; attempt += 1) {
        const { stdout } = spawnSync('redis-cli', ['-p', String(port), 'ping'], { encoding: 'utf8' })
        if (stdout.trim() === 'PONG' && pid() !== null) return
        pause(50)
      }
      throw new Error(`Redis does not respond on port ${port}; see ${join(folder, 'redis.log')}`)
    },
    pid,
    stop: (signal) => {
      const running = pid()
      if (running === null) return
      process.kill(running, signal)
      // Redis removes its pid file before it exits and logs afterwards: only the end of the process is reliable.
      for (let attempt = 0; attempt < 250 && runs(running); attempt += 1) pause(20)
    },
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function readPid(file: string): number | null {
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : null
}

function titleOf(pid: number): string {
  const file = `/proc/${pid}/cmdline`
  return existsSync(file) ? readFileSync(file, 'utf8').replaceAll('\0', ' ') : ''
}
