/** The page on which a publisher verifies a domain, at every step and with every result. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setApplicationPublisher } from '../../src/flows/applications/manage.ts'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { findApplication } from '../../src/store/applications/applications.ts'
import { type MadeUser, makeScopes, makeUser } from '../rig/make.ts'
import { type DnsServer, startDnsServer } from '../rig/network/dns-server.ts'
import { makeOwn, makeStranger, proveDomain, recordOf } from '../rig/scenes/publisher.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signInAs } from '../rig/signed-in.ts'
import { textOf, unescapeHtml, type Web } from '../rig/web.ts'

const { t } = wordsFor('en')
const PAGE = '/developer/application/publisher'
const CHECK = `${PAGE}/check`

let dns: DnsServer
let service: TestService
let owner: MadeUser
let web: Web
beforeAll(async () => {
  dns = await startDnsServer()
  service = await startTestService({ DNS_SERVERS: dns.address })
  await makeScopes(service.context.db, ['orders:read'])
  owner = await makeUser(service.context.db, service.account.slug)
  web = await signInAs(service, owner)
})
afterAll(async () => {
  await service.stop()
  await dns.stop()
})

let count = 0
const make = async () => {
  count += 1
  await service.database.query('delete from publisher_checks')
  return (await makeOwn(service, owner, `Screen ${count}`)).id
}
const open = (id: string) => web.get(`${PAGE}?application=${id}`)
const type = async (id: string, domain: string) => {
  await open(id)
  return web.submit(PAGE, { domain })
}

it('leads from a domain to the record, from the record to a check, and from there to a publisher', async () => {
  const id = await make()
  const first = await open(id)
  expect(textOf(first.text)).toContain(t('publisher.unknown'))
  expect(first.text).not.toContain(CHECK)
  const shown = await type(id, ' Acme.example ')
  const { name, value } = recordOf(service, id, 'acme.example')
  for (const text of [name, value]) expect(shown.text).toContain(`>${text}</bdi>`)
  expect(textOf(shown.text)).toContain(`${t('publisher_page.record_type')} TXT`)
  await dns.know({ texts: { [name]: [value] } })
  const proven = await web.submit(CHECK)
  expect(textOf(proven.text)).toContain(t('publisher_page.notice_proven', { domain: 'acme.example' }))
  expect(textOf(proven.text)).toContain(t('publisher.verified', { name: 'acme.example' }))
  const removed = await web.submit(`${PAGE}/remove`)
  expect(textOf(removed.text)).toContain(t('publisher_page.notice_removed'))
  expect((await findApplication(service.context.db, id))?.publisher.status).toBe('unverified')
})

it('can be left and opened again: the same domain has the same record', async () => {
  const id = await make()
  const { value } = recordOf(service, id, 'acme.example')
  for (let visit = 0; visit < 2; visit += 1) {
    expect((await web.get(`${PAGE}?application=${id}&domain=acme.example`)).text).toContain(value)
  }
})

describe('a check', () => {
  const check = async (id: string, domain = 'acme.example') => {
    await type(id, domain)
    return web.submit(CHECK)
  }
  const about = { record: '_latchkey.acme.example', domain: 'acme.example' }

  it('says that there is no record', async () => {
    await dns.know({})
    const page = await check(await make())
    expect([page.status, textOf(page.text)]).toEqual([
      400,
      expect.stringContaining(t('publisher_page.result_none', about)),
    ])
    expect(page.text, 'and shows it again').toContain('id="record-value"')
  })

  it('says that there is another record, and shows a part of it as text', async () => {
    const id = await make()
    const texts = [
      '<script>alert(1)</script>',
      `latchkey-publisher=${'0'.repeat(200)}`,
      'a\u202eb\u0007c',
      'the fourth',
    ]
    await dns.know({ texts: { '_latchkey.acme.example': texts } })
    const page = await check(id)
    expect(textOf(page.text)).toContain(t('publisher_page.result_other', about))
    expect(page.text).not.toContain('<script>alert')
    const list = /<ul class="titles">(.*?)<\/ul>/s.exec(page.text)?.[1] ?? ''
    expect(list.match(/<li>/g)).toHaveLength(3)
    expect(unescapeHtml(list)).not.toMatch(/\p{C}|0{81}/u)
  })

  it('says that name servers did not answer', async () => {
    const page = await check(await make(), 'acme.org')
    expect(textOf(page.text)).toContain(t('publisher_page.result_silent', { domain: 'acme.org', record: '' }))
  })

  it('says that there were too many checks, and how long to wait', async () => {
    const id = await make()
    await dns.know({})
    let page = await check(id)
    for (let more = 0; more < 10; more += 1) page = await check(id)
    expect([page.status, Number(page.headers['retry-after'])]).toEqual([429, expect.closeTo(600, -2)])
    expect(textOf(page.text)).toContain(t('publisher_page.result_too_many', { minutes: 10 }))
  })

  it('says that the name resembles another application’s', async () => {
    const stranger = await makeStranger(service)
    const id = await make()
    const theirs = await makeOwn(service, stranger, `Screen ${count}!`)
    await proveDomain(service, dns, stranger, theirs.id, 'stranger.example')
    const { name, value } = recordOf(service, id, 'acme.example')
    await dns.know({ texts: { [name]: [value] } })
    expect(textOf((await check(id)).text)).toContain(t('publisher_page.result_name_taken'))
  })
})

it.each([
  ['', 'empty'],
  ['https://acme.example/', 'address'],
  ['acme.example:443', 'port'],
  ['192.0.2.1', 'ip'],
  ['localhost', 'single'],
  ['acme.example.', 'dot'],
  [`${'a.'.repeat(125)}example`, 'too_long'],
  ['acme example', 'not_a_domain'],
  ['northwind.localhost', 'ours'],
] as const)('of %j it says what is wrong, at the field, with what was typed: %s', async (domain, problem) => {
  const page = await type(await make(), domain)
  expect([page.status, textOf(page.text)]).toEqual([
    400,
    expect.stringContaining(t(`publisher_page.problem_${problem}`)),
  ])
  expect(page.text).toContain('id="domain-problem"')
  if (domain !== '') expect(page.text).toContain(`value="${domain}"`)
  expect(page.text).not.toContain('id="record-value"')
})

it('a verification by an operator is shown, and cannot be changed here', async () => {
  const id = await make()
  await setApplicationPublisher(service.context.db, id, { status: 'verified', name: 'said.example' })
  const page = await open(id)
  expect(textOf(page.text)).toContain(t('publisher_page.operators_word'))
  expect(page.text).not.toMatch(/publisher\/(check|remove)"|id="domain"/)
})

it('a missing record is shown, with the value to set again', async () => {
  const id = await make()
  await proveDomain(service, dns, owner, id, 'acme.example')
  await service.database.query('update applications set publisher_missing_since = now() where id = $1', [id])
  const page = await open(id)
  expect(textOf(page.text)).toContain(t('publisher_page.missing_text'))
  expect(page.text).toContain(recordOf(service, id, 'acme.example').value)
})
