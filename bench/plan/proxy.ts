/** HAProxy in front of servers, with the configuration for one cell: it routes each poll by its device code. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  ACCOUNTS_MAP,
  accountsMap,
  BUCKETS_MAP,
  bucketsMap,
  haproxyConfig,
} from '../../server/src/core/cells/haproxy.ts'
import { BUCKETS, type CellMap } from '../../server/src/core/cells/map.ts'
import { accepting } from '../../server/test/interop/accepting.ts'
import { spawnTied } from '../../server/test/rig/process/tied-process.ts'
import { freePort } from '../../tools/free-port.ts'

export type Proxy = { readonly address: string; readonly pid: number; stop(): void }

/** `servers`: their addresses. */
export async function startProxy(folder: string, servers: readonly string[]): Promise<Proxy> {
  const listen = `127.0.0.1:${await freePort()}`
  const cell = { id: 1, name: 'one', address: servers[0] ?? '', home: true }
  const map: CellMap = {
    version: 1,
    cells: new Map([[1, cell]]),
    buckets: new Map(Array.from({ length: BUCKETS }, (_, bucket) => [bucket, 1])),
    prefixes: [],
    accountBuckets: new Map(),
  }
  const settings = { host: 'service.example', folder, bind: listen, socket: join(folder, 'socket') }
  const hosts = servers.map((address) => new URL(address).host)
  const config = join(folder, 'haproxy.cfg')
  writeFileSync(config, haproxyConfig(settings, [{ id: 1, servers: hosts }]))
  writeFileSync(join(folder, BUCKETS_MAP), bucketsMap(map))
  writeFileSync(join(folder, ACCOUNTS_MAP), accountsMap(map))
  const proxy = spawnTied('TERM', '/usr/sbin/haproxy', ['-db', '-f', config], { stdio: 'ignore' })
  await accepting(listen)
  return { address: `http://${listen}`, pid: proxy.pid ?? 0, stop: () => proxy.kill('SIGTERM') }
}
