/** Configuration and map files of the proxy. docs/scale.md, "Cells". */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { accountsMap, bucketsMap, haproxyConfig } from '../../../src/core/cells/haproxy.ts'
import type { CellMap } from '../../../src/core/cells/map.ts'
import { BUCKETED_PARAMETERS } from '../../../src/core/cells/routing.ts'

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
  accountBuckets: new Map([
    ['large', 4_096],
    ['larger', 4_097],
  ]),
}

const SETTINGS = { host: 'service.example', folder: '/etc/haproxy/cells', bind: ':443', socket: '/run/haproxy.sock' }
const CELLS = [
  { id: 1, servers: ['10.0.0.1:8080', '10.0.0.2:8080'] },
  { id: 2, servers: ['10.0.1.1:8080'] },
]

const config = () => haproxyConfig(SETTINGS, CELLS)

/** Instructions of each section, as HAProxy reads them: without indentation, empty lines and comments. */
function sectionsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>()
  let current: string[] = []
  for (const line of text.split('\n').filter((each) => !/^\s*(#|$)/.test(each))) {
    if (line.startsWith(' ')) {
      current.push(line.trim())
      continue
    }
    current = []
    sections.set(line, current)
  }
  return sections
}

const sections = () => sectionsOf(config())
const frontend = () => sections().get('frontend service') ?? []

test('the map of buckets has its version, every bucket, and the bucket of each cell for codes without an account', () => {
  expect(bucketsMap(MAP)).toBe('version 7\n0 cell1\n1 cell2\n4096 cell2\n61441 cell1\n61442 cell2\n')
})

test('the map of accounts has a line for each of those whose bucket is not computed', () => {
  expect(accountsMap(MAP)).toBe('large 4096\nlarger 4097\n')
  expect(accountsMap({ ...MAP, accountBuckets: new Map() })).toBe('')
})

test('times, limits and ciphers are those of the proxy of an undivided installation', () => {
  const reference = readFileSync(new URL('../../../../deploy/haproxy/haproxy.cfg', import.meta.url), 'utf8')
  const settings = reference
    .split('\n')
    .map((line) => line.trim())
    .filter((line) =>
      /^(timeout|option|maxconn|ssl-|log-format|unique-id|http-request set-header|http-request deny|retry-on|default-server)/.test(
        line,
      ),
    )
    // Limits per client stand in front of all cells.
    .filter((line) => !line.includes('deny_status 429'))
  expect(settings.length).toBeGreaterThan(15)
  expect(settings.filter((line) => !config().includes(line))).toEqual([])
})

test('the configuration has a section for each cell and one for all, with an empty line between, and ends with a line', () => {
  const names = ['global', 'defaults', 'frontend service', 'backend cell1', 'backend cell2', 'backend any']
  expect([...sections().keys()]).toEqual(names)
  for (const name of names) expect(config()).toContain(`\n\n${name}\n`)
  expect(config()).toMatch(/[^\n]\n$/)
})

test('the runtime API is on the socket, and requests arrive where it is said', () => {
  expect(sections().get('global')).toContain('stats socket /run/haproxy.sock mode 600 level admin')
  expect(frontend()[0]).toBe('bind :443')
})

describe('a server', () => {
  const check = ['balance leastconn', 'retry-on conn-failure']

  test('is in its cell, where it is checked', () => {
    const checked = [
      ...check,
      'option httpchk GET /health/ready',
      'http-check expect status 200',
      'default-server check inter 2s fall 2 rise 1 maxconn 5000',
    ]
    expect(sections().get('backend cell1')).toEqual([
      ...checked,
      'server cell1-1 10.0.0.1:8080',
      'server cell1-2 10.0.0.2:8080',
    ])
    expect(sections().get('backend cell2')).toEqual([...checked, 'server cell2-1 10.0.1.1:8080'])
  })

  test('is in the backend for requests without a bucket, too, as long as its cell has it', () => {
    expect(sections().get('backend any')).toEqual([
      ...check,
      'default-server maxconn 5000',
      'server cell1-1 10.0.0.1:8080 track cell1/cell1-1',
      'server cell1-2 10.0.0.2:8080 track cell1/cell1-2',
      'server cell2-1 10.0.1.1:8080 track cell2/cell2-1',
    ])
  })
})

describe('a request is routed', () => {
  test('by the slug before the host of the service, of which every dot is a dot', () => {
    expect(frontend()).toContain('acl of_account var(txn.host) -m end .service.example')
    const lines = (host: string) => haproxyConfig({ ...SETTINGS, host }, CELLS)
    expect(lines('a.service.example')).toContain(
      String.raw`set-var(txn.slug) var(txn.host),regsub(\.a\.service\.example$,) if of_account`,
    )
  })

  test('by the bucket of the account in the map, otherwise by the computed one', () => {
    expect(frontend().filter((line) => line.includes('set-var(txn.bucket) var(txn.slug)'))).toEqual([
      'http-request set-var(txn.bucket) var(txn.slug),map(/etc/haproxy/cells/accounts.map) if has_slug',
      'http-request set-var(txn.bucket) var(txn.slug),crc32,mod(4096) if has_slug !{ var(txn.bucket) -m found }',
    ])
  })

  test('on the host of the service by the first code or credential: in the form, in the address, or as a bearer', () => {
    const plain = BUCKETED_PARAMETERS.filter((name) => name !== 'request_uri')
    const prefix = ',url_dec,regsub(^urn:ietf:params:oauth:request_uri:,lkc_)'
    const samples = [
      ...plain.flatMap((name) => [`req.body_param(${name})`, `url_param(${name})`]),
      `req.body_param(request_uri)${prefix}`,
      `url_param(request_uri)${prefix}`,
      'http_auth_bearer',
    ]
    expect(frontend().filter((line) => line.startsWith('http-request set-var(txn.text)'))).toEqual(
      samples.map((sample) => `http-request set-var(txn.text) ${sample} if !of_account !has_text`),
    )
  })

  test('to the cell that has the bucket, otherwise to any', () => {
    expect(frontend().slice(-2)).toEqual([
      'use_backend %[var(txn.bucket),map(/etc/haproxy/cells/buckets.map)] if { var(txn.bucket),map(/etc/haproxy/cells/buckets.map) -m found }',
      'default_backend any',
    ])
  })
})
