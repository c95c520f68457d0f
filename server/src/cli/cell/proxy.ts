/** `latchkey cell proxy-config|proxy-sync`: HAProxy in front of the cells. docs/scale.md, "Cells". */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../../config.ts'
import {
  ACCOUNTS_MAP,
  accountsMap,
  BUCKETS_MAP,
  bucketsMap,
  haproxyConfig,
  type ProxiedCell,
  VERSION_KEY,
} from '../../core/cells/haproxy.ts'
import type { CellMap } from '../../core/cells/map.ts'
import { readCellMap, readMapVersion } from '../../store/cells/map.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import { CommandRefused, type OutputOptions, print } from '../client/output.ts'
import { withDatabase } from '../wiring.ts'
import { readMapValue, replaceMap } from './runtime-api.ts'

const BIND = ':443 ssl crt /etc/ssl/service.example.bundle.pem alpn h2,http/1.1'
const SOCKET = '/run/haproxy/latchkey.sock'

/** Servers read a change within a second, so with this interval it is in effect everywhere within two seconds. */
const SYNC_MS = 500

type Servers = ReadonlyMap<number, readonly string[]>
type ProxyOptions = { readonly out: string; readonly socket: string }
type ConfigOptions = OutputOptions & ProxyOptions & { readonly bind: string; readonly servers: Servers }

export function addProxyCommands(cell: Command): void {
  cell
    .command('proxy-config')
    .description(
      'Write the configuration of HAProxy, haproxy.cfg, and its map files. Repeat it after a cell was added, and reload HAProxy.',
    )
    .option('--out <folder>', 'folder to write to; the configuration names the map files there', '.')
    .option('--bind <text>', 'address, port and certificate, as after "bind" in HAProxy’s configuration', BIND)
    .option('--socket <path>', 'socket of HAProxy’s runtime API', SOCKET)
    .option(
      '--servers <cell=host:port,…>',
      'servers of a cell, if the proxy reaches them elsewhere than other cells do; may be repeated',
      readServers,
      new Map(),
    )
    .option('--json', 'print one JSON object')
    .action((options: ConfigOptions) => {
      const { databaseUrl, publicUrl } = readConfig(['databaseUrl', 'publicUrl'])
      return withDatabase(databaseUrl, async (db) => {
        const map = await readCellMap(db)
        if (map.cells.size === 0) throw new CommandRefused('The installation is not divided into cells.')
        const { bind, socket, servers } = options
        const folder = resolve(options.out)
        const host = new URL(publicUrl).hostname
        await mkdir(folder, { recursive: true })
        await writeMaps(folder, map)
        const file = join(folder, 'haproxy.cfg')
        await replaceFile(file, haproxyConfig({ host, folder, bind, socket }, proxiedCells(map, servers)))
        print(options, { file, version: map.version }, `${file} has version ${map.version} of the map.`)
      })
    })

  cell
    .command('proxy-sync')
    .description('Bring changes of the map to a running HAProxy and to its map files, until SIGTERM.')
    .option('--out <folder>', 'folder of the map files, as in its configuration', '.')
    .option('--socket <path>', 'socket of HAProxy’s runtime API', SOCKET)
    .action((options: ProxyOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, (db) =>
        keepInSync(db, resolve(options.out), options.socket),
      ),
    )
}

/** `1=10.0.0.1:8080,10.0.0.2:8080` */
function readServers(text: string, before: Servers): Servers {
  const [, cell, list = ''] = /^(\d{1,2})=(\S+)$/.exec(text) ?? []
  const servers = list.split(',')
  if (cell === undefined || !servers.every((each) => /^[\w.:[\]-]+:\d{1,5}$/.test(each))) {
    throw new InvalidArgumentError('Give the number of a cell and its servers: 1=10.0.0.1:8080,10.0.0.2:8080.')
  }
  return new Map(before).set(Number(cell), servers)
}

function proxiedCells({ cells }: CellMap, servers: Servers): ProxiedCell[] {
  return Array.from(cells.values(), ({ id, address }) => ({ id, servers: servers.get(id) ?? [serverAt(address)] }))
}

/** Address of a `server` line. */
function serverAt(address: string): string {
  const { hostname, port, protocol } = new URL(address)
  if (protocol === 'https:')
    return `${hostname}:${port || 443} ssl verify required ca-file @system-ca sni str(${hostname})`
  return `${hostname}:${port || 80}`
}

async function writeMaps(folder: string, map: CellMap): Promise<void> {
  await replaceFile(join(folder, ACCOUNTS_MAP), accountsMap(map))
  await replaceFile(join(folder, BUCKETS_MAP), bucketsMap(map))
}

/** Replaces the file atomically: HAProxy may read it at any time. */
async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}

async function keepInSync(db: Queryable, folder: string, socket: string): Promise<void> {
  const stopped = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.abort())
  let lastReason = ''
  while (!stopped.signal.aborted) {
    try {
      const version = await syncMaps(db, folder, socket)
      if (version !== null) console.log(`HAProxy has version ${version} of the map.`)
      lastReason = ''
    } catch (error) {
      // PostgreSQL or HAProxy is unreachable. HAProxy keeps its current maps. The reason is printed once.
      const reason = error instanceof Error ? error.message : String(error)
      if (reason !== lastReason) console.error(`Synchronisation failed and will be retried: ${reason}`)
      lastReason = reason
    }
    await sleep(SYNC_MS, undefined, { signal: stopped.signal }).catch(() => {})
  }
}

/**
 * Updates the map files and the running HAProxy. Returns the new version; null if HAProxy was up to date. Reads the
 * version from HAProxy each time, because a restarted HAProxy has the version of the files. Replaces the map of buckets
 * last, because it contains the version of both maps.
 */
async function syncMaps(db: Queryable, folder: string, socket: string): Promise<number | null> {
  const [version, has] = [await readMapVersion(db), await readMapValue(socket, join(folder, BUCKETS_MAP), VERSION_KEY)]
  if (version === null || has === String(version)) return null
  const map = await readCellMap(db)
  await writeMaps(folder, map)
  await replaceMap(socket, join(folder, ACCOUNTS_MAP), accountsMap(map))
  await replaceMap(socket, join(folder, BUCKETS_MAP), bucketsMap(map))
  return map.version
}
