/** Map files of the proxy, and the rules by which a server finds the cell of a request. docs/scale.md, "Cells". */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { accountsMap, bucketsMap, haproxyConfig } from '../../../src/core/cells/haproxy.ts'
import type { CellMap } from '../../../src/core/cells/map.ts'
import { otherCell } from '../../../src/core/cells/routing.ts'

const MAP: CellMap = {
  version: 7,
  cells: new Map(
    [1, 2].map((id) => [id, { id, name: `name${id}`, address: `http://10.0.0.${id}:8080`, home: id === 1 }]),
  ),
  buckets: new Map([
    [0, 1],
    [1, 2],
    [4_096, 2],
  ]),
  prefixes: [],
  accountBuckets: new Map([['large', 4_096]]),
}

const SETTINGS = { host: 'service.example', folder: '/etc/haproxy/cells', bind: ':443', socket: '/run/haproxy.sock' }
const CELLS = [
  { id: 1, servers: ['10.0.0.1:8080', '10.0.0.2:8080'] },
  { id: 2, servers: ['10.0.1.1:8080'] },
]

test('the map of buckets has its version, every bucket, and the bucket of each cell for codes without an account', () => {
  expect(bucketsMap(MAP)).toBe('version 7\n0 cell1\n1 cell2\n4096 cell2\n61441 cell1\n61442 cell2\n')
})

test('the map of accounts has those whose bucket is not computed', () => {
  expect(accountsMap(MAP)).toBe('large 4096\n')
})

test('every server is in its cell, and in the backend for requests without a bucket', () => {
  const config = haproxyConfig(SETTINGS, CELLS)
  expect(config).toContain('backend cell1\n')
  expect(config).toContain('    server cell1-2 10.0.0.2:8080\n')
  expect(config.slice(config.indexOf('backend any'))).toContain(
    '    server cell2-1 10.0.1.1:8080 track cell2/cell2-1\n',
  )
})

test('times, limits and ciphers are those of the proxy of an undivided installation', () => {
  const reference = readFileSync(new URL('../../../../deploy/haproxy/haproxy.cfg', import.meta.url), 'utf8')
  const config = haproxyConfig(SETTINGS, CELLS)
  const settings = reference
    .split('\n')
    .map((line) => line.trim())
    .filter((line) =>
      /^(timeout|option|maxconn|ssl-|log-format|unique-id|http-request set-header|http-request deny|retry-on|default-server)/.test(
        line,
      ),
    )
  expect(settings.length).toBeGreaterThan(15)
  expect(settings.filter((line) => !config.includes(line))).toEqual([])
})

test('a request belongs to another cell only if a known bucket says so', () => {
  expect(otherCell(MAP, 1, 1)?.id).toBe(2)
  expect(otherCell(MAP, 2, 1)).toBe(null)
  expect(otherCell(MAP, 1, 61_442)?.id).toBe(2)
  expect(otherCell(MAP, 1, 61_443)).toBe(null)
  expect(otherCell(MAP, 1, 17)).toBe(null)
  expect(otherCell(MAP, 1, null)).toBe(null)
})
