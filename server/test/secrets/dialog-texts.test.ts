/** Signed texts of the dialog: what they are bound to, and that nothing else is accepted. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  createBrowserMark,
  digestBrowserMark,
  isBrowserMark,
  signAccountReference,
  signAuthorizationCode,
  signDialogReference,
  signPushedRequest,
  verifyAccountReference,
  verifyAuthorizationCode,
  verifyDialogReference,
  verifyPushedRequest,
} from '../../src/secrets/dialog-texts.ts'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'

const keysFrom = (...texts: string[]) => parseKeyset(texts.join(',')) as Keyset
const [one, two] = [createKey(1), createKey(2)]
const keys = keysFrom(one)

const id = randomUUID()
const [mark, otherMark] = [createBrowserMark(), createBrowserMark()]
const digest = digestBrowserMark(mark)
const EXPIRES_AT = Date.parse('2026-03-01T12:01:00.123Z')
const APPLICATION = 'app_k3v9m2x7q4tz'
const PUSHED = 'urn:ietf:params:oauth:request_uri:'

type Text = {
  readonly name: string
  readonly shape: RegExp
  readonly make: (by: Keyset) => string
  readonly open: (by: Keyset, text: string) => unknown
  readonly says: unknown
}

const texts: readonly Text[] = [
  {
    name: 'an authorization code',
    shape: /^lkc_0000[A-Za-z0-9_-]{44}$/,
    make: (by) => signAuthorizationCode(by, id),
    open: verifyAuthorizationCode,
    says: id,
  },
  {
    name: 'a request on the base host',
    shape: /^lkq_0000[A-Za-z0-9_-]{44}$/,
    make: (by) => signDialogReference(by, id, mark),
    open: (by, text) => verifyDialogReference(by, text, mark),
    says: id,
  },
  {
    name: 'a request on the host of an account',
    shape: /^lkp_0000[A-Za-z0-9_-]{44}$/,
    make: (by) => signAccountReference(by, id, 'acme', digest),
    open: (by, text) => verifyAccountReference(by, text, 'acme', digest),
    says: id,
  },
  {
    name: 'a pushed request',
    shape: /^urn:ietf:params:oauth:request_uri:0000[A-Za-z0-9_-]{52}$/,
    make: (by) => signPushedRequest(by, id, EXPIRES_AT, APPLICATION),
    open: (by, text) => verifyPushedRequest(by, text, APPLICATION),
    says: { id, expiresAt: EXPIRES_AT },
  },
]

describe.each(texts)('the text of $name', ({ shape, make, open, says }) => {
  const text = make(keys)

  test('verifies to its content, also after a key rotation, and is deterministic', () => {
    expect(text).toMatch(shape)
    expect(open(keys, text)).toEqual(says)
    expect(open(keysFrom(two, one), text)).toEqual(says)
    expect(make(keys)).toBe(text)
    expect(make(keysFrom(two, one))).not.toBe(text)
  })

  test('is refused if altered, truncated or forged, or once its key is retired', () => {
    for (let at = 0; at < text.length; at += 1) {
      const other = text[at] === 'A' ? 'B' : 'A'
      expect(open(keys, text.slice(0, at) + other + text.slice(at + 1))).toBeNull()
    }
    for (const made of ['', text.slice(0, -1), `${text}A`, `${text}=`, ` ${text}`, id, 'lkc_', PUSHED]) {
      expect(open(keys, made)).toBeNull()
    }
    expect(open(keysFrom(two), text)).toBeNull()
    expect(open(keysFrom(createKey(1)), text)).toBeNull()
  })

  test('is not accepted as another kind, with any prefix', () => {
    const bare = text.replace(/^lk._|^urn:ietf:params:oauth:request_uri:/, '')
    const disguised = ['', 'lkc_', 'lkq_', 'lkp_', PUSHED].map((prefix) => prefix + bare)
    for (const other of texts.filter((each) => each.open !== open)) {
      expect(disguised.filter((each) => other.open(keys, each) !== null)).toEqual([])
    }
  })
})

describe('the binding of a text', () => {
  test('DG-21: a request verifies only for its browser', () => {
    const text = signDialogReference(keys, id, mark)
    for (const other of [otherMark, '', digest, mark.slice(1)])
      expect(verifyDialogReference(keys, text, other)).toBeNull()
  })

  test('DG-21: a visit verifies only at its account, for its browser', () => {
    const text = signAccountReference(keys, id, 'acme', digest)
    expect(verifyAccountReference(keys, text, 'globex', digest)).toBeNull()
    expect(verifyAccountReference(keys, text, 'acme', digestBrowserMark(otherMark))).toBeNull()
    expect(verifyAccountReference(keys, text, '', `acme\n${digest}`)).toBeNull()
    expect(verifyAccountReference(keys, text, 'acme\n', digest)).toBeNull()
  })

  test('a pushed request verifies only for the application that pushed it', () => {
    const text = signPushedRequest(keys, id, EXPIRES_AT, APPLICATION)
    expect(verifyPushedRequest(keys, text, 'app_000000000000')).toBeNull()
    expect(verifyPushedRequest(keys, text, '')).toBeNull()
  })

  test('a pushed request keeps its moment to the millisecond, and later ones are other texts', () => {
    const later = signPushedRequest(keys, id, EXPIRES_AT + 1, APPLICATION)
    expect(verifyPushedRequest(keys, later, APPLICATION)).toEqual({ id, expiresAt: EXPIRES_AT + 1 })
    expect(later).not.toBe(signPushedRequest(keys, id, EXPIRES_AT, APPLICATION))
  })
})

describe('the browser cookie', () => {
  test('is 128 random bits, and no two are alike', () => {
    const marks = Array.from({ length: 1_000 }, createBrowserMark)
    expect(new Set(marks).size).toBe(1_000)
    for (const each of marks) expect(Buffer.from(each, 'base64url')).toHaveLength(16)
    expect(marks.every(isBrowserMark)).toBe(true)
  })

  test('is recognised by its shape, which fits in a cookie', () => {
    for (const made of ['', 'x', `${mark}A`, mark.slice(1), `${mark.slice(1)}=`, `${mark}\n`, `${mark.slice(2)};a`]) {
      expect(isBrowserMark(made)).toBe(false)
    }
  })

  test('cannot be computed from its digest, which is used in URLs', () => {
    expect(digest).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(digestBrowserMark(mark)).toBe(digest)
    expect(digestBrowserMark(otherMark)).not.toBe(digest)
    expect(isBrowserMark(digest)).toBe(false)
  })
})
