/** AD-10: names that users would confuse with that of a verified application. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isApplicationName } from '../../../src/core/applications/application.ts'
import { BY_COMMAND_LINE } from '../../../src/core/audit/actor.ts'
import { setApplicationPublisher } from '../../../src/flows/applications/manage.ts'
import { changeSettings, registerApplication } from '../../../src/flows/applications/own.ts'
import { acceptProposal } from '../../../src/flows/applications/proposals.ts'
import { provePublisher } from '../../../src/flows/applications/publisher.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { findApplication } from '../../../src/store/applications/applications.ts'
import { listEveryProposal } from '../../../src/store/applications/proposals.ts'
import { makeRegistration } from '../../rig/application-settings.ts'
import { createApplication } from '../../rig/create.ts'
import { type MadeUser, makeAccount, makeScopes, makeUser } from '../../rig/make.ts'
import { type DnsServer, startDnsServer } from '../../rig/network/dns-server.ts'
import { makeOwn, makeStranger, OWN_SETTINGS, proveDomain, recordOf } from '../../rig/scenes/publisher.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor } from '../../rig/signed-in.ts'
import { textOf } from '../../rig/web.ts'
import { honestNeighbours, lookAlikes } from './look-alikes.ts'

const { t } = wordsFor('en')

let dns: DnsServer
let service: TestService
let owner: MadeUser
beforeAll(async () => {
  dns = await startDnsServer()
  service = await startTestService({ DNS_SERVERS: dns.address })
  await makeScopes(service.context.db, ['orders:read'])
  owner = await makeUser(service.context.db, service.account.slug)
  const { id } = await makeOwn(service, owner, 'Acme Television')
  await proveDomain(service, dns, owner, id, 'acme.example')
})
afterAll(async () => {
  await service.stop()
  await dns.stop()
})

const change = (by: MadeUser, id: string, given: object) =>
  changeSettings(service.context, by.id, id, { ...OWN_SETTINGS, ...given })
const versionOf = async (id: string) =>
  (await listEveryProposal(service.context.db)).find(({ applicationId }) => applicationId === id)?.version ?? 0

const TAKEN = { outcome: 'unfit', problem: { field: 'name', problem: 'taken' } }
const names = lookAlikes.filter(isApplicationName)

it('AD-10: no other account registers or renames an application to a look-alike of a verified one', async () => {
  const stranger = await makeStranger(service)
  const { id } = await makeOwn(service, stranger, 'Plain Kiosk')
  for (const name of [...names, 'Acme Television']) {
    const registered = await registerApplication(service.context, stranger.id, { ...OWN_SETTINGS, name, public: false })
    expect([name, registered]).toEqual([name, TAKEN])
    expect([name, await change(stranger, id, { name })]).toEqual([name, TAKEN])
  }
  expect((await findApplication(service.context.db, id))?.name).toBe('Plain Kiosk')
})

it('AD-10: the command line refuses look-alikes, too', async () => {
  const { slug } = await makeAccount(service.context.db)
  const wish = makeRegistration(slug, { name: 'Асmе Television' })
  expect(await createApplication(service.context.db, service.config.keys, wish)).toEqual({
    outcome: 'refused',
    reason: expect.stringContaining('looks the same'),
  })
})

it('AD-10: the page shows the problem at the name', async () => {
  const stranger = await makeStranger(service)
  const form = await signedFor(service, stranger, '/developer/new', {})
  const asked = { step: 'scopes', kind: 'device', name: 'Acme Te1evision', 'use.orders:read': 'default' }
  const page = await stranger.web.send('POST', '/developer/new', { ...asked, ...form })
  expect([page.status, textOf(page.text)]).toEqual([400, expect.stringContaining(t('register.problem_taken'))])
  expect(page.text).toContain('id="name-problem"')
})

it('AD-10: similar names that cannot be confused are accepted', async () => {
  const stranger = await makeStranger(service)
  for (const name of honestNeighbours) await makeOwn(service, stranger, name)
})

it('AD-10: the account that has the name may use look-alikes', async () => {
  await makeOwn(service, owner, 'ACME TELEVISION')
})

it('AD-10: an earlier look-alike cannot verify a domain, and keeps its name', async () => {
  const [first, second] = [await makeStranger(service), await makeStranger(service)]
  const early = await makeOwn(service, first, 'Grocer Pro')
  const late = await makeOwn(service, second, 'Gr0cer Pro')
  expect(await proveDomain(service, dns, second, late.id, 'grocer.example')).toBe('proven')
  expect(await proveDomain(service, dns, first, early.id, 'early.example')).toBe('name_taken')
  expect(await change(first, early.id, { name: 'Grocer Pro' })).toEqual({ outcome: 'saved' })
  expect(await change(first, early.id, { name: 'Fruit Pro' })).toEqual({ outcome: 'saved' })
  expect(await proveDomain(service, dns, first, early.id, 'early.example')).toBe('proven')
})

it('AD-10: of two look-alikes that verify their domains at the same moment, one succeeds', async () => {
  const people = [await makeStranger(service), await makeStranger(service)]
  const made: { by: MadeUser; id: string; domain: string }[] = []
  for (const [index, by] of people.entries()) {
    const { id } = await makeOwn(service, by, index === 0 ? 'Twin Lamp' : 'Twin Larnp')
    made.push({ by, id, domain: `twin${index}.example` })
  }
  const records = made.map(({ id, domain }) => recordOf(service, id, domain))
  const texts = Object.fromEntries(records.map(({ name, value }) => [name, [value]]))
  await dns.know({ texts })
  const results = await Promise.all(
    made.map(({ by, id, domain }) => provePublisher(service.context, by.id, id, domain)),
  )
  expect(results.map(({ outcome }) => outcome).sort()).toEqual(['name_taken', 'proven'])
})

it('AD-10: a proposal whose name was taken meanwhile is not accepted', async () => {
  const [first, second] = [await makeStranger(service), await makeStranger(service)]
  const { id } = await makeOwn(service, first, 'Old Clock')
  await setApplicationPublisher(service.context.db, id, { status: 'own', name: null })
  await change(first, id, { name: 'New Clock' })
  const other = await makeOwn(service, second, 'New C1ock')
  await setApplicationPublisher(service.context.db, other.id, { status: 'own', name: null })
  expect(await acceptProposal(service.context, BY_COMMAND_LINE, id, await versionOf(id))).toEqual({ outcome: 'taken' })
})
