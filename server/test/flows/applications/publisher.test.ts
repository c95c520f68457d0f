/** Verification of a publisher's domain by a DNS record, with a real name server, and its daily checks. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { setApplicationPublisher } from '../../../src/flows/applications/manage.ts'
import { registerApplication } from '../../../src/flows/applications/own.ts'
import { provePublisher, recordFor, removePublisher } from '../../../src/flows/applications/publisher.ts'
import { recheckPublisher } from '../../../src/flows/applications/recheck-publisher.ts'
import { findApplication } from '../../../src/store/applications/applications.ts'
import { makeSettings } from '../../rig/application-settings.ts'
import { type MadeUser, makeAccount, makeScopes, makeUser } from '../../rig/make.ts'
import { type DnsServer, startDnsServer } from '../../rig/network/dns-server.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

let dns: DnsServer
let service: TestService
let by: MadeUser
beforeAll(async () => {
  dns = await startDnsServer()
  const environment = { DNS_SERVERS: dns.address, PUBLIC_URL: 'https://service.example' }
  service = await startTestService(environment, { clock: true, listen: false })
  await makeScopes(service.context.db, ['orders:read'])
})
afterAll(async () => {
  await service.stop()
  await dns.stop()
})
/** Each in an account of its own, so that checks are not counted together. */
beforeEach(async () => {
  const { slug } = await makeAccount(service.context.db)
  by = await makeUser(service.context.db, slug)
  await service.database.query('update applications set deleted_at = now()')
})

let count = 0
async function make(user = by): Promise<string> {
  count += 1
  const settings = makeSettings({ name: `Board ${count}` })
  const made = await registerApplication(service.context, user.id, { ...settings, public: false })
  if (made.outcome !== 'registered') throw new Error(made.outcome)
  return made.id
}

function recordOf(id: string, domain = 'acme.example') {
  const record = recordFor(service.context, id, domain)
  if ('problem' in record) throw new Error(record.problem)
  return record
}

const prove = (id: string, domain = 'acme.example', user = by) => provePublisher(service.context, user.id, id, domain)
const publisherOf = async (id: string) => (await findApplication(service.context.db, id))?.publisher
const set = (...ids: string[]) => dns.know({ texts: { '_latchkey.acme.example': ids.map((id) => recordOf(id).value) } })
const eventsOf = async (id: string) => {
  const rows = await service.database.query<{ kind: string }>(
    "select kind from audit_events where application_id = $1 and kind <> 'application.created' order by id",
    [id],
  )
  return rows.map(({ kind }) => kind)
}
const mailsOf = (id: string) =>
  service.database.query<{ user_id: string; detail: object }>(
    `select m.user_id, m.detail from mails m join applications a on a.account_id = m.account_id
     where a.id = $1 and m.kind = 'publisher_record' order by m.id`,
    [id],
  )

const NOBODY = { status: 'unverified', name: null }
const ACME = { status: 'verified', name: 'acme.example' }

describe('a domain', () => {
  it('is verified by its record, and every server pulls it', async () => {
    const id = await make()
    await set(id)
    expect(await prove(id)).toEqual({ outcome: 'proven' })
    expect(await publisherOf(id)).toEqual(ACME)
    await service.context.applications.refresh()
    expect(service.context.applications.find(id)).toMatchObject({ publisher: ACME, vouchedFor: true })
    expect(await eventsOf(id)).toEqual(['application.publisher_proven'])
  })

  it('may be typed in upper case or as an internationalised name', async () => {
    const id = await make()
    await dns.know({ texts: { '_latchkey.xn--bcher-kva.example': [recordOf(id, 'bücher.example').value] } })
    expect(await prove(id, ' BÜCHER.example ')).toEqual({ outcome: 'proven' })
    expect(await publisherOf(id)).toEqual({ status: 'verified', name: 'xn--bcher-kva.example' })
  })

  it('is verified by a record among others, in upper case, in several strings, behind a CNAME', async () => {
    const id = await make()
    const { value } = recordOf(id)
    const ways = [
      { texts: { '_latchkey.acme.example': ['v=spf1 -all', value, 'something else'] } },
      { texts: { '_latchkey.acme.example': [value.toUpperCase()] } },
      { texts: { '_latchkey.acme.example': [[value.slice(0, 20), value.slice(20)]] } },
      { texts: { 'proofs.acme.example': [value] }, aliases: { '_latchkey.acme.example': 'proofs.acme.example' } },
    ]
    for (const records of ways) {
      await dns.know(records)
      expect(await prove(id)).toEqual({ outcome: 'proven' })
      expect(await removePublisher(service.context, by.id, id)).toEqual({ outcome: 'removed' })
    }
  })

  it('is not verified without a record, and the records found are shown', async () => {
    const id = await make()
    await dns.know({})
    expect(await prove(id)).toEqual({ outcome: 'none' })
    await dns.know({ texts: { '_latchkey.acme.example': ['latchkey-publisher=else'] } })
    expect(await prove(id)).toEqual({ outcome: 'other', found: ['latchkey-publisher=else'] })
    // Records at the domain itself do not count, although other services use them.
    await dns.know({ texts: { 'acme.example': [recordOf(id).value] } })
    expect(await prove(id)).toEqual({ outcome: 'none' })
    expect(await publisherOf(id)).toEqual(NOBODY)
    expect(await eventsOf(id)).toEqual([])
  })

  it('is not verified by the record of another application or domain', async () => {
    const [id, other] = [await make(), await make()]
    await set(other)
    expect(await prove(id)).toMatchObject({ outcome: 'other' })
    await dns.know({ texts: { '_latchkey.acme.example': [recordOf(id, 'evil.example').value] } })
    expect(await prove(id)).toMatchObject({ outcome: 'other' })
    await set(id, other)
    expect([await prove(id), await prove(other)]).toEqual([{ outcome: 'proven' }, { outcome: 'proven' }])
  })

  it('is not verified while name servers do not answer', async () => {
    const id = await make()
    const refusing = 'acme.org'
    expect(await prove(id, refusing)).toEqual({ outcome: 'silent' })
    expect(await publisherOf(id)).toEqual(NOBODY)
  })

  it('can be replaced and removed', async () => {
    const id = await make()
    await dns.know({
      texts: {
        '_latchkey.acme.example': [recordOf(id).value],
        '_latchkey.new.example': [recordOf(id, 'new.example').value],
      },
    })
    await prove(id)
    expect(await prove(id, 'new.example')).toEqual({ outcome: 'proven' })
    expect(await publisherOf(id)).toEqual({ status: 'verified', name: 'new.example' })
    expect(await removePublisher(service.context, by.id, id)).toEqual({ outcome: 'removed' })
    expect(await publisherOf(id)).toEqual(NOBODY)
    expect(await removePublisher(service.context, by.id, id)).toEqual({ outcome: 'removed' })
    expect(await eventsOf(id)).toEqual([
      'application.publisher_proven',
      'application.publisher_proven',
      'application.publisher_removed',
    ])
  })

  it('that is invalid is reported without a DNS query', async () => {
    const id = await make()
    expect(await prove(id, 'https://acme.example/')).toEqual({ outcome: 'unfit', problem: 'address' })
    expect(await prove(id, 'acme.service.example')).toEqual({ outcome: 'unfit', problem: 'ours' })
    const [checks] = await service.database.query(
      'select count(*)::int as checks from publisher_checks where application_id = $1',
      [id],
    )
    expect(checks).toEqual({ checks: 0 })
  })

  it('can be set only by administrators of the owning account', async () => {
    const id = await make()
    await set(id)
    const { slug } = await makeAccount(service.context.db)
    const stranger = await makeUser(service.context.db, slug)
    const clerk = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
    expect(await prove(id, 'acme.example', stranger)).toEqual({ outcome: 'not_found' })
    expect(await prove(id, 'acme.example', clerk)).toEqual({ outcome: 'forbidden' })
    expect(await removePublisher(service.context, stranger.id, id)).toEqual({ outcome: 'not_found' })
    expect(await publisherOf(id)).toEqual(NOBODY)
  })
})

describe('checks', () => {
  it('are limited to ten per application in ten minutes, also at the same moment', async () => {
    const id = await make()
    await dns.know({})
    const results = await Promise.all(Array.from({ length: 14 }, () => prove(id)))
    const outcomes = results.map(({ outcome }) => outcome)
    expect(outcomes.filter((outcome) => outcome === 'none')).toHaveLength(10)
    expect(outcomes.filter((outcome) => outcome === 'too_many')).toHaveLength(4)
    const refused = await prove(id)
    expect(refused.outcome === 'too_many' && refused.waitMs).toBeGreaterThan(9 * MINUTE)
    await service.database.advance(10 * MINUTE)
    expect(await prove(id)).toEqual({ outcome: 'none' })
  })

  it('are limited to thirty per account', async () => {
    const ids = [await make(), await make(), await make(), await make()]
    await dns.know({})
    for (const id of ids.slice(0, 3)) await Promise.all(Array.from({ length: 10 }, () => prove(id)))
    expect(await prove(ids[3] ?? '')).toMatchObject({ outcome: 'too_many' })
    const { slug } = await makeAccount(service.context.db)
    const other = await makeUser(service.context.db, slug)
    expect(await prove(await make(other), 'acme.example', other)).toEqual({ outcome: 'none' })
  })
})

describe('verification by an operator', () => {
  it.each([
    { status: 'own', name: null },
    { status: 'verified', name: 'said.example' },
  ] as const)('stands: %o is neither replaced nor removed, and no record is looked for', async (publisher) => {
    const id = await make()
    await set(id)
    await setApplicationPublisher(service.context.db, id, publisher)
    expect(await prove(id)).toEqual({ outcome: 'operators_word' })
    expect(await removePublisher(service.context, by.id, id)).toEqual({ outcome: 'operators_word' })
    await service.database.advance(40 * DAY)
    expect(await recheckPublisher(service.context)).toBeNull()
    expect(await publisherOf(id)).toEqual(publisher)
  })

  it('replaces that by DNS, and the record is no longer checked', async () => {
    const id = await make()
    await set(id)
    await prove(id)
    await setApplicationPublisher(service.context.db, id, { status: 'verified', name: 'acme.example' })
    await dns.know({})
    await service.database.advance(40 * DAY)
    expect(await recheckPublisher(service.context)).toBeNull()
    expect(await publisherOf(id)).toEqual(ACME)
  })

  it('as unverified lets the publisher verify a domain', async () => {
    const id = await make()
    await set(id)
    await setApplicationPublisher(service.context.db, id, { status: 'unverified', name: 'calls-itself.example' })
    expect(await prove(id)).toEqual({ outcome: 'proven' })
  })
})

describe('once a day', () => {
  async function makeProven(): Promise<string> {
    const id = await make()
    await set(id)
    expect(await prove(id)).toEqual({ outcome: 'proven' })
    return id
  }
  const tomorrow = async () => {
    await service.database.advance(DAY + MINUTE)
    return recheckPublisher(service.context)
  }

  it('every record is checked, and not more often', async () => {
    await makeProven()
    expect(await recheckPublisher(service.context)).toBeNull()
    expect(await tomorrow()).toBe('proven')
    expect(await recheckPublisher(service.context)).toBeNull()
    await service.database.advance(DAY - MINUTE)
    expect(await recheckPublisher(service.context)).toBeNull()
  })

  it('a missing one is reported to administrators at once, and after seven days in a row the publisher is unverified', async () => {
    const id = await makeProven()
    await dns.know({})
    expect(await tomorrow()).toBe('missed')
    for (let day = 2; day <= 7; day += 1) expect(await tomorrow()).toBe('still_missing')
    expect(await publisherOf(id)).toEqual(ACME)
    expect(await tomorrow()).toBe('lost')
    expect(await publisherOf(id)).toEqual(NOBODY)
    expect(await tomorrow()).toBeNull()
    expect((await eventsOf(id)).slice(1)).toEqual(['application.publisher_missing', 'application.publisher_lost'])
    const detail = { domain: 'acme.example', record: '_latchkey.acme.example', application: `Board ${count}` }
    expect(await mailsOf(id)).toEqual([
      { user_id: by.id, detail: { ...detail, lost: false } },
      { user_id: by.id, detail: { ...detail, lost: true } },
    ])
  })

  it('one that returns resets the days', async () => {
    const id = await makeProven()
    await dns.know({})
    for (let day = 1; day <= 6; day += 1) await tomorrow()
    await set(id)
    expect(await tomorrow()).toBe('proven')
    await dns.know({})
    expect(await tomorrow()).toBe('missed')
    for (let day = 2; day <= 7; day += 1) expect(await tomorrow()).toBe('still_missing')
    expect(await publisherOf(id)).toEqual(ACME)
  })

  it('one with another value counts as missing', async () => {
    await makeProven()
    await dns.know({ texts: { '_latchkey.acme.example': ['latchkey-publisher=else'] } })
    expect(await tomorrow()).toBe('missed')
  })

  it('without an answer nothing changes for thirty days', async () => {
    const id = await makeProven()
    await service.database.query("update applications set publisher = 'acme.org' where id = $1", [id])
    for (let day = 1; day <= 29; day += 1) expect(await tomorrow()).toBe('unknown')
    expect(await tomorrow()).toBe('lost')
    expect(await publisherOf(id)).toEqual(NOBODY)
  })

  it('several processes check each record once', async () => {
    await makeProven()
    await makeProven()
    await makeProven()
    await service.database.advance(DAY + MINUTE)
    const looked = await Promise.all(Array.from({ length: 8 }, () => recheckPublisher(service.context)))
    expect(looked.filter((outcome) => outcome !== null)).toHaveLength(3)
  })

  it('a domain removed during the check is not reported', async () => {
    const id = await makeProven()
    await dns.know({})
    await service.database.advance(DAY + MINUTE)
    const [looked] = await Promise.all([recheckPublisher(service.context), removePublisher(service.context, by.id, id)])
    expect([null, 'missed']).toContain(looked)
    expect(await publisherOf(id)).toEqual(NOBODY)
    const [row] = await service.database.query(
      'select publisher_proven_at as proven, publisher_missing_since as missing from applications where id = $1',
      [id],
    )
    expect(row).toEqual({ proven: null, missing: null })
  })

  it('a deleted application is not checked', async () => {
    const id = await makeProven()
    await service.database.query('update applications set deleted_at = now() where id = $1', [id])
    expect(await tomorrow()).toBeNull()
  })
})
