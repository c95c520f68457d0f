/** AD-02, AD-03, AD-08: verified applications that change, and domains that are none. */
import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BY_COMMAND_LINE } from '../../../src/core/audit/actor.ts'
import { changeSettings } from '../../../src/flows/applications/own.ts'
import { acceptProposal, withdrawProposal } from '../../../src/flows/applications/proposals.ts'
import { provePublisher, removePublisher } from '../../../src/flows/applications/publisher.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { findApplication } from '../../../src/store/applications/applications.ts'
import { listEveryProposal, readProposedLogo } from '../../../src/store/applications/proposals.ts'
import { askMe, connect } from '../../rig/connect.ts'
import { drawLogo } from '../../rig/corpora/logo.ts'
import { makePkce, openQuestion } from '../../rig/dialog.ts'
import { type MadeApplication, type MadeUser, makeScopes, makeUser } from '../../rig/make.ts'
import { type DnsServer, startDnsServer } from '../../rig/network/dns-server.ts'
import { upload } from '../../rig/pages/upload.ts'
import { makeOwn, makeStranger, OWN_SETTINGS, proveDomain } from '../../rig/scenes/publisher.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, signedFor, signInAs } from '../../rig/signed-in.ts'
import { textOf, type Web } from '../../rig/web.ts'

const { t } = wordsFor('en')

let dns: DnsServer
let service: TestService
let owner: MadeUser
let web: Web
let acme: MadeApplication
beforeAll(async () => {
  dns = await startDnsServer()
  service = await startTestService({ DNS_SERVERS: dns.address })
  await makeScopes(service.context.db, ['orders:read', 'orders:write'])
  owner = await makeUser(service.context.db, service.account.slug)
  web = await signInAs(service, owner)
  acme = await makeOwn(service, owner, 'Acme Television')
  await proveDomain(service, dns, owner, acme.id, 'acme.example')
})
afterAll(async () => {
  await service.stop()
  await dns.stop()
})

/** The consent page of a code of this application. */
async function consentOf(application: MadeApplication): Promise<string> {
  const visitor = await makeSignedInUser(service)
  const { user_code } = await service.device('oauth', application).code()
  return (await visitor.web.enterCode(user_code)).text
}

const change = (by: MadeUser, id: string, given: object) =>
  changeSettings(service.context, by.id, id, { ...OWN_SETTINGS, ...given })
const uploadLogo = async (id: string, bytes: Buffer, by = owner, at = web) => {
  const path = '/developer/application/logo'
  return upload(at, path, await signedFor(service, by, path, { application: id }), { name: 'logo', bytes })
}
const waiting = async (id: string) =>
  (await listEveryProposal(service.context.db)).find(({ applicationId }) => applicationId === id)
const versionOf = async (id: string) => (await waiting(id))?.version ?? 0

describe('bait and switch', () => {
  it('AD-02: a verified application keeps its shown name and logo until an operator has accepted the new ones', async () => {
    expect(await change(owner, acme.id, { name: 'Northwind Bank' })).toEqual({ outcome: 'saved' })
    expect((await uploadLogo(acme.id, await drawLogo())).status).toBe(303)
    const before = await consentOf(acme)
    expect(textOf(before)).toContain('Acme Television')
    expect(before).not.toMatch(/Northwind Bank|\/application-logo/)
    const own = await web.get(`/developer/application?application=${acme.id}`)
    expect(textOf(own.text)).toContain(t('proposal.title'))
    expect(textOf(own.text)).toContain('Northwind Bank')
    expect(await acceptProposal(service.context, BY_COMMAND_LINE, acme.id, await versionOf(acme.id))).toEqual({
      outcome: 'accepted',
    })
    const after = await consentOf(acme)
    expect(textOf(after)).toContain('Northwind Bank')
    const [address = ''] = /\/application-logo\?[^"]+/.exec(after) ?? []
    const picture = await service.web().send('GET', address.replaceAll('&amp;', '&'))
    expect([picture.status, picture.headers['content-type']]).toEqual([200, 'image/png'])
    await change(owner, acme.id, { name: 'Acme Television' })
    await acceptProposal(service.context, BY_COMMAND_LINE, acme.id, await versionOf(acme.id))
  })

  it('AD-02: removing the domain, changing the name and verifying the domain again does not avoid it', async () => {
    const stranger = await makeStranger(service)
    const id = (await makeOwn(service, stranger, 'Corner Kiosk')).id
    expect(await proveDomain(service, dns, stranger, id, 'kiosk.example')).toBe('proven')
    await removePublisher(service.context, stranger.id, id)
    await change(stranger, id, { name: 'Northwind Bank' })
    expect(await proveDomain(service, dns, stranger, id, 'kiosk.example')).toBe('proven')
    expect(await findApplication(service.context.db, id)).toMatchObject({
      name: 'Corner Kiosk',
      publisher: { status: 'verified' },
    })
  })

  it('AD-02: a logo uploaded before the domain was verified does not avoid it', async () => {
    const stranger = await makeStranger(service)
    const application = await makeOwn(service, stranger, 'Picture Frame')
    expect((await uploadLogo(application.id, await drawLogo(), stranger, stranger.web)).status).toBe(303)
    expect(await consentOf(application)).not.toContain('/application-logo')
    expect(await proveDomain(service, dns, stranger, application.id, 'frame.example')).toBe('proven')
    expect(await consentOf(application)).not.toContain('/application-logo')
    await acceptProposal(service.context, BY_COMMAND_LINE, application.id, await versionOf(application.id))
    expect(await consentOf(application)).toContain('/application-logo')
    await removePublisher(service.context, stranger.id, application.id)
    expect(await consentOf(application)).not.toContain('/application-logo')
  })

  it('AD-02: a new redirect URI and a new scope are shown as they are, and no earlier grant covers them', async () => {
    const { credential } = await connect(service, { application: acme, scope: 'orders:read' })
    const scopes = { allowedScopes: ['orders:read', 'orders:write'], defaultScopes: ['orders:read', 'orders:write'] }
    const elsewhere = 'https://elsewhere.example/back'
    await change(owner, acme.id, { ...scopes, redirectUris: [elsewhere] })
    await service.context.applications.refresh()
    const { at } = await openQuestion(service, {
      application: acme,
      parameters: { redirect_uri: elsewhere, code_challenge: makePkce().challenge, code_challenge_method: 'S256' },
    })
    const shown = textOf(at.page.text)
    expect(shown).toContain('elsewhere.example')
    expect(shown).toContain('May orders:write')
    expect((await askMe(service, credential)).body.scope).toBe('orders:read')
    await change(owner, acme.id, {})
    await service.context.applications.refresh()
  })
})

describe('acceptance and edits', () => {
  it('AD-08: withdrawing and proposing something else does not bring the old version back', async () => {
    await change(owner, acme.id, { name: 'Acme Television 3' })
    const looked = await versionOf(acme.id)
    await withdrawProposal(service.context, owner.id, acme.id)
    await change(owner, acme.id, { name: 'Northwind Bank' })
    expect(await acceptProposal(service.context, BY_COMMAND_LINE, acme.id, looked)).toEqual({ outcome: 'stale' })
    expect((await uploadLogo(acme.id, await drawLogo())).status).toBe(303)
    expect(await readProposedLogo(service.context.db, acme.id, looked)).toBeNull()
    await withdrawProposal(service.context, owner.id, acme.id)
  })

  it('AD-08: an edit and an acceptance at the same moment: either the edit waits or the acceptance is stale', async () => {
    const usage = { accepted: 0, stale: 0 }
    for (let round = 0; round < 25; round += 1) {
      const [good, evil] = [`Acme Television ${round} a`, `Northwind Bank ${round}`]
      await change(owner, acme.id, { name: good })
      const looked = await versionOf(acme.id)
      const accepting = () => acceptProposal(service.context, BY_COMMAND_LINE, acme.id, looked)
      const editing = () => change(owner, acme.id, { name: evil })
      const [result] =
        round % 2 === 0
          ? await Promise.all([accepting(), editing()])
          : (await Promise.all([editing(), accepting()])).toReversed()
      const { outcome } = result as Awaited<ReturnType<typeof accepting>>
      if (outcome !== 'accepted' && outcome !== 'stale') throw new Error(outcome)
      usage[outcome] += 1
      const name = (await findApplication(service.context.db, acme.id))?.name
      expect([outcome, name]).not.toContain(evil)
      if (outcome === 'accepted') expect(name).toBe(good)
      expect((await waiting(acme.id))?.name).toBe(evil)
      await withdrawProposal(service.context, owner.id, acme.id)
    }
    expect(usage.accepted + usage.stale).toBe(25)
    await change(owner, acme.id, { name: 'Acme Television' })
    await acceptProposal(service.context, BY_COMMAND_LINE, acme.id, await versionOf(acme.id))
  })

  it('AD-08: two operators at the same moment accept it once', async () => {
    await change(owner, acme.id, { name: 'Acme Television 4' })
    const version = await versionOf(acme.id)
    const results = await Promise.all(
      Array.from({ length: 4 }, () => acceptProposal(service.context, BY_COMMAND_LINE, acme.id, version)),
    )
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['accepted', 'not_found', 'not_found', 'not_found'])
    await change(owner, acme.id, { name: 'Acme Television' })
    await acceptProposal(service.context, BY_COMMAND_LINE, acme.id, await versionOf(acme.id))
  })
})

describe('domains given by a developer', () => {
  /** Every query to a name server: name and type. */
  async function startWitness() {
    const asked: string[] = []
    const socket = createSocket('udp4')
    socket.on('message', (question, from) => {
      asked.push(readQuestion(question))
      const answer = Buffer.from(question)
      answer.writeUInt16BE(0x8183, 2)
      socket.send(answer, from.port, from.address)
    })
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
    return { asked, address: `127.0.0.1:${(socket.address() as AddressInfo).port}`, close: () => socket.close() }
  }

  /** RFC 1035, section 4.1.2. */
  function readQuestion(bytes: Buffer): string {
    const labels: string[] = []
    let at = 12
    for (let length = bytes[at] ?? 0; length > 0; length = bytes[at] ?? 0) {
      labels.push(bytes.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
    }
    return `${bytes.readUInt16BE(at + 1)} ${labels.join('.')}`
  }

  const TXT = 16

  it('AD-03: an IP address, a host of the service or an invalid domain causes no DNS query', async () => {
    const witness = await startWitness()
    const other = await startTestService(
      { DNS_SERVERS: witness.address, PUBLIC_URL: 'https://service.example' },
      { listen: false },
    )
    const user = await makeUser(other.context.db, other.account.slug)
    const hostile = [
      '169.254.169.254',
      'http://169.254.169.254/latest/meta-data/',
      '0xa9fea9fe',
      '2852039166',
      '127.0.0.1',
      '::1',
      '[::ffff:169.254.169.254]',
      'localhost',
      'localhost:6379',
      'redis',
      'acme.example@169.254.169.254',
      'acme.example#@localhost',
      'acme.example\r\nHost: localhost',
      'acme.example\0.evil.example',
      'service.example',
      'northwind.service.example',
      '..',
      '%6c%6f%63%61%6c%68%6f%73%74',
    ]
    for (const domain of hostile) {
      const { outcome } = await provePublisher(other.context, user.id, other.application.id, domain)
      expect([domain, outcome]).toEqual([domain, 'unfit'])
    }
    expect(witness.asked).toEqual([])
    await other.stop()
    witness.close()
  })

  it('AD-03: any other domain causes one TXT query under our own label: never for its address', async () => {
    const witness = await startWitness()
    const other = await startTestService({ DNS_SERVERS: witness.address }, { listen: false })
    const user = await makeUser(other.context.db, other.account.slug)
    const domains = ['acme.example', 'metadata.google.internal', 'db.corp.internal', 'xn--bcher-kva.example']
    for (const domain of domains) {
      expect(await provePublisher(other.context, user.id, other.application.id, domain)).toEqual({ outcome: 'none' })
    }
    expect([...new Set(witness.asked.map((each) => each.toLowerCase()))]).toEqual(
      domains.map((domain) => `${TXT} _latchkey.${domain}`),
    )
    await other.stop()
    witness.close()
  })
})
