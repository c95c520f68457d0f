/** Password digests of other services: which are accepted, and that they match their password only. */
import { pbkdf2Sync } from 'node:crypto'
import { hash as argon2 } from '@node-rs/argon2'
import { hash as bcrypt } from '@node-rs/bcrypt'
import { describe, expect, it } from 'vitest'
import {
  createPasswords,
  digestPassword,
  importDigest,
  isImported,
  matchesImported,
} from '../../src/secrets/password.ts'

const PASSWORD = 'Grüße, correct horse'
const key = (hash: string, salt: string) => pbkdf2Sync(PASSWORD, salt, 1000, 32, hash).toString('base64')
const bare = (base64: string) => base64.replaceAll('=', '')

/** Each spelling that is accepted; bcrypt's prefixes differ in the name only. */
const digests = async () => {
  const blowfish = await bcrypt(PASSWORD, 4)
  const salt = bare(Buffer.from('salt and pepper').toString('base64'))
  return [
    await argon2(PASSWORD, { memoryCost: 4096, timeCost: 3, parallelism: 1 }),
    blowfish,
    blowfish.replace('$2b$', '$2y$'),
    blowfish.replace('$2b$', '$2a$'),
    `$pbkdf2-sha256$i=1000$${salt}$${bare(key('sha256', 'salt and pepper'))}`,
    `$pbkdf2-sha512$i=1000,l=32$${salt}$${bare(key('sha512', 'salt and pepper'))}`,
    `$pbkdf2-sha256$1000$${salt.replaceAll('+', '.')}$${bare(key('sha256', 'salt and pepper')).replaceAll('+', '.')}`,
    `pbkdf2_sha256$1000$Ab3$${key('sha256', 'Ab3')}`,
  ]
}

const { matches } = createPasswords().known({ accountId: 'acc', network: 'home' })

describe('an imported digest', () => {
  it('matches its password, as it was typed, and no other', async () => {
    for (const text of await digests()) {
      const imported = importDigest(text)
      const digest = 'digest' in imported ? imported.digest : imported.problem
      expect([text, isImported(digest), await matches(digest, PASSWORD)]).toEqual([text, true, true])
      expect([text, await matches(digest, `${PASSWORD}!`), await matches(digest, '')]).toEqual([text, false, false])
    }
  })

  it('of our own is told from one of another service', async () => {
    const own = await digestPassword(PASSWORD)
    expect([isImported(own), isImported(null)]).toEqual([false, false])
  })

  it('is PBKDF2 as Django and passlib write it', async () => {
    const known = {
      'pbkdf2_sha256$10000$seasalt2$skPdPHnAsVEsRcqTNPTvR47tkLzsQWTgrRtM6x/bAR0=': 'lètmein',
      '$pbkdf2-sha256$29000$N2YMIWQsBWBMae09x1jrPQ$1t8iyB2A.WF/Z5JZv.lfCIhXXN33N23OSgQYThBYRfk': 'toomanysecrets',
    }
    for (const [text, password] of Object.entries(known)) {
      const imported = importDigest(text)
      expect('digest' in imported && (await matches(imported.digest, password))).toBe(true)
    }
  })
})

it('a stored digest of an unknown kind matches nothing, and nothing throws', async () => {
  for (const text of ['', 'x', 'imported:', 'imported:5f4dcc3b5aa765d61d8327deb882cf99']) {
    expect(await matchesImported(text, '5f4dcc3b5aa765d61d8327deb882cf99')).toBe(false)
  }
})

describe('what would make others wait is refused, and the reason names the bound', () => {
  const salted = '$c29tZXNhbHRzb21lc2FsdA$MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI'
  const blowfish = 'N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy'
  it.each([
    [`$argon2id$v=19$m=65536,t=4,p=4${salted}`, null],
    [`$argon2id$v=19$m=65537,t=1,p=1${salted}`, /m=65536,t=4,p=4/],
    [`$argon2id$v=19$m=65536,t=5,p=1${salted}`, /m=65536,t=4,p=4/],
    [`$argon2id$v=19$m=65536,t=1,p=5${salted}`, /m=65536,t=4,p=4/],
    [`$argon2id$v=19$m=1,t=1,p=1${salted}`, /beyond/],
    [`$argon2id$v=19$m=7,t=1,p=1${salted}`, /m=7,t=1,p=1 is beyond/],
    [`$argon2id$v=19$m=8,t=1,p=1${salted}`, null],
    [`$argon2id$v=19$m=15,t=1,p=2${salted}`, /beyond/],
    [`$argon2id$v=19$m=16,t=1,p=2${salted}`, null],
    [`$argon2id$v=19$m=8,t=0,p=1${salted}`, /beyond/],
    [`$argon2id$v=19$m=8,t=1,p=0${salted}`, /beyond/],
    [`x$argon2id$v=19$m=8,t=1,p=1${salted}`, /is not argon2id/],
    [`$argon2id$v=19$m=8,t=1,p=1${salted}=`, /is not argon2id/],
    [`$argon2id$v=16$m=8,t=1,p=1${salted}`, /is not argon2id/],
    [`$argon2i$v=19$m=4096,t=1,p=1${salted}`, /is not argon2id, bcrypt or PBKDF2/],
    [`$2b$12$${blowfish}`, null],
    [`$2b$13$${blowfish}`, /4 to 12/],
    [`$2b$04$${blowfish}`, null],
    [`$2b$03$${blowfish}`, /cost 3 .*4 to 12/],
    [`x$2b$10$${blowfish}`, /is not argon2id, bcrypt/],
    [`$2x$10$${blowfish}`, /is not argon2id, bcrypt/],
    [`$2b$10$${blowfish}0`, /is not argon2id, bcrypt/],
    [`$2b$10$${blowfish.slice(1)}`, /is not argon2id, bcrypt or PBKDF2/],
    [`$pbkdf2-sha256$i=1000000${salted}`, null],
    [`$pbkdf2-sha256$i=1000001${salted}`, /1 to 1000000/],
    [`$pbkdf2-sha256$i=1${salted}`, null],
    [`$pbkdf2-sha256$i=0${salted}`, /with 0 iterations .*1 to 1000000/],
    [`x$pbkdf2-sha256$i=1000${salted}`, /is not argon2id/],
    [`$pbkdf2-sha256$i=1000${salted}===`, /is not argon2id/],
    ['pbkdf2_sha256$1000$salt$MTIzNDU2Nzg5MDEyMzQ1Njc4OTA=', null],
    ['xpbkdf2_sha256$1000$salt$MTIzNDU2Nzg5MDEyMzQ1Njc4OTA=', /is not argon2id/],
    ['pbkdf2_sha256$1000$salt$MTIzNDU2Nzg5MDEyMzQ1Njc4OTA=x', /is not argon2id/],
    [`$pbkdf2-sha1$i=1000${salted}`, /is not argon2id, bcrypt or PBKDF2/],
    ['5f4dcc3b5aa765d61d8327deb882cf99', /is not argon2id, bcrypt or PBKDF2/],
    ['imported:x', /is not argon2id, bcrypt or PBKDF2/],
  ])('%s', (text, reason) => {
    const imported = importDigest(text)
    if (reason === null) expect(imported).toHaveProperty('digest')
    else expect('problem' in imported ? imported.problem : '').toMatch(reason)
  })
})
