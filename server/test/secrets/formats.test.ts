/** docs/interface/credentials.md, "Formats", documents every code and credential; new ones are compared with its tables. */
import { createHmac, hkdfSync, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createApplicationSecret } from '../../src/secrets/application-secret.ts'
import { makeAccessKey, makeTokenSet } from '../../src/secrets/credentials.ts'
import { signDeviceCode, uuidBytes } from '../../src/secrets/device-code-text.ts'
import {
  createBrowserMark,
  digestBrowserMark,
  signAccountReference,
  signAuthorizationCode,
  signDialogReference,
  signPushedRequest,
} from '../../src/secrets/dialog-texts.ts'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { createManagementKey } from '../../src/secrets/manage/key.ts'
import { createDeviceCodeId, createGrantId, createGrantSecret, createId } from '../../src/secrets/random.ts'
import { createTestSecret } from '../../src/secrets/test-secret.ts'
import { makeGrant, NOW } from '../rig/records.ts'

const DOCUMENT = readFileSync(
  join(import.meta.dirname, '..', '..', '..', 'docs', 'interface', 'credentials.md'),
  'utf8',
)

/** The rows of the table with these headings, without the space around a cell and without its backticks. */
function tableUnder(...headings: readonly string[]): string[][] {
  const lines = DOCUMENT.split('\n')
  const cells = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replace(/^`(.*)`$/, '$1'))
  const at = lines.findIndex((line) => line.startsWith('|') && cells(line).join() === headings.join())
  if (at < 0) throw new Error(`docs/interface/credentials.md has no table with ${headings.join(', ')}`)
  const end = lines.findIndex((line, index) => index > at && !line.startsWith('|'))
  return lines.slice(at + 2, end).map(cells)
}

const key = createKey(7)
const keys = parseKeyset(key) as Keyset

type Made = {
  readonly text: string
  readonly purpose: string
  /** The bytes by their documented names; before them are the prefix and the reserved digits. */
  readonly bytes: Readonly<Record<string, Buffer>>
  readonly bound?: string
}

const number = (value: number, bytes: number) => Buffer.from(value.toString(16).padStart(bytes * 2, '0'), 'hex')

const APPLICATION = 'app_k3v9m2x7q4tz'

const makers: Readonly<Record<string, () => Made>> = {
  'access token': () => {
    const grant = makeGrant({ secret: createGrantSecret(), generation: 3, keyId: 7 })
    return {
      text: makeTokenSet(keys, grant, NOW, 3_600_000).accessToken,
      purpose: 'access-token',
      bytes: {
        'secret of the grant': uuidBytes(grant.secret),
        generation: number(3, 4),
        expiry: number(NOW / 1000 + 3_600, 5),
      },
    }
  },
  'refresh token': () => {
    const grant = makeGrant({ secret: createGrantSecret(), generation: 3, keyId: 7 })
    return {
      text: makeTokenSet(keys, grant, NOW, 3_600_000).refreshToken,
      purpose: 'refresh-token',
      bytes: { 'secret of the grant': uuidBytes(grant.secret), generation: number(3, 4) },
    }
  },
  'access key': () => {
    const grant = makeGrant({ secret: createGrantSecret(), keyGeneration: 9, keyId: 7 })
    return {
      text: makeAccessKey(keys, grant),
      purpose: 'access-key',
      bytes: { 'secret of the grant': uuidBytes(grant.secret), 'key generation': number(9, 4) },
    }
  },
  'device code': () => {
    const code = { id: createDeviceCodeId(NOW), applicationId: APPLICATION, variant: 'access_key' as const }
    return {
      text: signDeviceCode(keys, { ...code, expiresAt: NOW, intervalSeconds: 300 }),
      purpose: 'device-code',
      bytes: {
        'id of the code': uuidBytes(code.id),
        'variant and interval': Buffer.of(0b11, 44),
        expiry: number(NOW, 6),
      },
      bound: APPLICATION,
    }
  },
  'authorization code': () => {
    const id = randomUUID()
    const bytes = { 'id of the dialog': uuidBytes(id) }
    return { text: signAuthorizationCode(keys, id), purpose: 'authorization-code', bytes }
  },
  'pushed request': () => {
    const id = randomUUID()
    const bytes = { 'id of the dialog': uuidBytes(id), expiry: number(NOW, 6) }
    return { text: signPushedRequest(keys, id, NOW, APPLICATION), purpose: 'pushed-request', bytes, bound: APPLICATION }
  },
  'dialog, base host': () => {
    const [id, bound] = [randomUUID(), createBrowserMark()]
    const bytes = { 'id of the dialog': uuidBytes(id) }
    return { text: signDialogReference(keys, id, bound), purpose: 'dialog-reference', bytes, bound }
  },
  'dialog, account': () => {
    const [id, digest] = [randomUUID(), digestBrowserMark(createBrowserMark())]
    const bytes = { 'id of the dialog': uuidBytes(id) }
    const text = signAccountReference(keys, id, 'acme', digest)
    return { text, purpose: 'account-reference', bytes, bound: `acme\n${digest}` }
  },
}

const secrets: Readonly<Record<string, () => string>> = {
  'application secret': createApplicationSecret,
  'test secret': createTestSecret,
  'management key': createManagementKey,
}

const shapes = tableUnder('Format', 'Length', 'Expression')
const layouts = tableUnder('Format', 'Bytes', 'Bound to')

test('both tables list every format; only the three secrets have no layout', () => {
  expect(shapes.map(([name]) => name)).toEqual([...Object.keys(makers), ...Object.keys(secrets)])
  expect(layouts.map(([name]) => name)).toEqual(Object.keys(makers))
})

test.each(shapes)(
  '%s: a hundred fresh ones have %s characters and fit the expression',
  (name = '', length, expression) => {
    for (let each = 0; each < 100; each += 1) {
      const text = makers[name]?.().text ?? secrets[name]?.() ?? ''
      expect(text).toHaveLength(Number(length))
      expect(text).toMatch(new RegExp(expression ?? '$^'))
    }
  },
)

describe.each(layouts)('%s', (name = '', documented = '', boundTo = '') => {
  const { text, purpose, bytes, bound = '' } = makers[name]?.() ?? { text: '', purpose: '', bytes: {} }
  const prefix = /^(?:lk._|urn:ietf:params:oauth:request_uri:)/.exec(text)?.[0] ?? ''
  const sealed = Buffer.from(text.slice(prefix.length + 4), 'base64url')
  const parts = documented.split(', ').map((part) => /^(.*) (\d+)$/.exec(part)?.slice(1) ?? [])

  test('has exactly these bytes at these positions', () => {
    let at = 0
    const found = parts.map(([part = '', size]) => {
      const start = at
      at += Number(size)
      return [part, sealed.subarray(start, at)]
    })
    expect(at).toBe(sealed.length)
    const { MAC, ...carried } = Object.fromEntries(found)
    expect(carried).toEqual({ 'key id': Buffer.of(7), ...bytes })
    expect(MAC).toHaveLength(16)
  })

  test('has the reserved digits after the prefix', () => {
    expect(text.slice(prefix.length, prefix.length + 4)).toBe('0000')
  })

  test('ends in the MAC of the reserved digits, key id, body and what it is bound to', () => {
    const subKey = hkdfSync('sha256', Buffer.from(key.split(':')[1] ?? '', 'base64url'), '', `latchkey/${purpose}`, 32)
    const message = Buffer.concat([Buffer.of(0, 0), sealed.subarray(0, -16), Buffer.from(bound)])
    const mac = createHmac('sha256', Buffer.from(subKey)).update(message).digest().subarray(0, 16)
    expect(sealed.subarray(-16)).toEqual(mac)
    expect(DOCUMENT).toContain(`\`latchkey/${purpose}\``)
    expect(bound === '').toBe(boundTo === 'nothing')
  })
})

test('the id of a grant has the documented form, and so have the others', () => {
  const [id] = tableUnder('Value', 'Form', 'Where')
  for (let each = 0; each < 100; each += 1) expect(createGrantId()).toMatch(new RegExp(id?.[1] ?? '$^'))
  for (const prefix of ['acc', 'usr', 'rol', 'app', 'sec', 'rev', 'dec', 'whk'] as const) {
    expect(createId(prefix)).toMatch(new RegExp(`^${prefix}_[0-9a-z]{12}$`))
    expect(DOCUMENT).toContain(`\`${prefix}_\``)
  }
})

describe('the expression for secret scanners', () => {
  const expression = new RegExp(/^ {4}(\\blk\(.*)$/m.exec(DOCUMENT)?.[1] ?? '$^', 'g')
  const found = (text: string) => text.match(expression)
  const leaked = [
    'access token',
    'refresh token',
    'access key',
    'device code',
    'authorization code',
    'application secret',
    'test secret',
    'management key',
  ]

  test.each(leaked)('finds %s completely in any text', (name) => {
    for (let each = 0; each < 100; each += 1) {
      const text = makers[name]?.().text ?? secrets[name]?.() ?? ''
      for (const around of [`${text}`, `token=${text}&x=1`, `"${text}"`, `Bearer ${text}\n`, `a ${text}, b`]) {
        expect(found(around)).toEqual([text])
      }
    }
  })

  test('finds nothing in longer, shorter or similar texts', () => {
    const { text } = makers['access key']?.() ?? { text: '' }
    for (const other of [
      `${text}A`,
      text.slice(0, -1),
      `x${text}`,
      text.toUpperCase(),
      createGrantId(),
      createId('app'),
    ]) {
      expect(found(other)).toBeNull()
    }
  })
})
