/** MK-01 and MK-02: what the holder of a stolen management key tries with the e-mail addresses of users. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MadeUser, makeUser } from '../../rig/make.ts'
import type { ManageClient } from '../../rig/manage.ts'
import { needs } from '../../rig/origins/needs.ts'
import { fresh, PASSWORD, type StolenKeys, startStolenKeys } from '../../rig/scenes/stolen-keys.ts'
import type { TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'
import { formFields } from '../../rig/web.ts'
import { eventKinds, mailsOf } from '../../rig/witness.ts'

let stolen: StolenKeys
let service: TestService
let users: string
beforeAll(async () => {
  stolen = await startStolenKeys()
  service = stolen.service
  users = stolen.users
})
afterAll(() => stolen.stop())

const mailsTo = (address: string) =>
  stolen.mailbox.mails.filter(({ to }) => to === address).map(({ subject }) => subject)
const recover = (email: string) => service.web().send('POST', '/recover', { email })

/** Both ways to change an address. */
const WAYS = [
  {
    way: 'SCIM',
    scopes: ['scim'],
    ask: (call: ManageClient, id: string, value: string) =>
      call('PATCH', `/scim/2/Users/${id}`, { Operations: [{ op: 'replace', path: 'userName', value }] }),
    shown: 'userName',
  },
  {
    way: 'the management API',
    scopes: ['users:write'],
    ask: (call: ManageClient, id: string, email: string) => call('PATCH', `${users}/${id}`, { email }),
    shown: 'pending_email',
  },
] as const

/** The link in the mail to the present address. */
async function linkTo({ email }: MadeUser): Promise<string> {
  const { text } = await stolen.mailbox.waitFor(({ to, text }) => to === email && text.includes('New address'))
  return /http\S+(\/link\?token=\S+)/.exec(text)?.[1] ?? ''
}

describe.each(WAYS)('MK-01: an address changed by $way', needs('recovery'), ({ scopes, ask, shown }) => {
  it('is not the one with which the user signs in and recovers, until the old mailbox confirms it', async () => {
    const ben = await stolen.somebody()
    const mallory = fresh('mallory')
    const call = await stolen.keyWith(...scopes)
    const answer = await ask(call, ben.id, mallory)
    expect([answer.status, answer.body[shown]]).toEqual([200, mallory])
    expect(await stolen.emailOf(ben)).toBe(ben.email)
    const link = await linkTo(ben)
    await recover(mallory)
    await recover(ben.email)
    await stolen.mailbox.waitFor(({ to, subject }) => to === ben.email && /Reset your password/.test(subject))
    expect(mailsTo(mallory)).toEqual([])
    expect((await service.web().signIn(ben.email, PASSWORD)).status).toBe(200)

    const web = service.web()
    const page = await web.get(link)
    expect([page.text.includes(ben.email), page.text.includes(mallory)]).toEqual([true, true])
    expect(await stolen.emailOf(ben)).toBe(ben.email)
    await web.submit('/link/address', { decision: 'change' })
    expect(await stolen.emailOf(ben)).toBe(mallory)
  })

  it('is told to the old mailbox and to every administrator', async () => {
    const ben = await stolen.somebody()
    await ask(await stolen.keyWith(...scopes), ben.id, fresh('mallory'))
    await linkTo(ben)
    expect(await mailsOf(service, ben)).toEqual(['address_change'])
    expect(await mailsOf(service, service.user)).toContain('address_changes')
    expect(await eventKinds(service, { user: ben })).toContain('user.address_requested')
  })

  it('is pending as well for an administrator without a second factor, and after a reset', async () => {
    const boss = await stolen.somebody('administrator')
    await ask(await stolen.keyWith(...scopes), boss.id, fresh('mallory'))
    expect(await stolen.emailOf(boss)).toBe(boss.email)
    const ben = await stolen.somebody()
    const web = await signInAs(service, service.user)
    await web.send(
      'POST',
      '/account/person/send-link',
      await signedFor(service, service.user, '/account/person/send-link', { user: ben.id }),
    )
    expect(await mailsOf(service, ben)).toEqual(['reset'])
    await ask(await stolen.keyWith(...scopes), ben.id, fresh('mallory'))
    expect(await stolen.emailOf(ben)).toBe(ben.email)
  })

  it('is pending for an invited user who holds what the key could not give', async () => {
    const invited = await makeUser(service.context.db, service.account.slug, { role: 'clerk' })
    const call = await stolen.keyWith(...scopes)
    await ask(call, invited.id, fresh('mallory'))
    expect(await stolen.emailOf(invited)).toBe(invited.email)
    const plain = (await (await stolen.keyWith('users:write'))('POST', users, { email: fresh('new') })).body
    const typed = fresh('typed')
    await ask(call, plain.id, typed)
    expect(await stolen.emailOf(plain)).toBe(typed)
  })
})

describe('MK-02: a pending address', needs('recovery'), () => {
  let call: ManageClient
  beforeAll(async () => {
    call = await stolen.keyWith('users:write')
  })
  const ask = (user: MadeUser, email: string) => call('PATCH', `${users}/${user.id}`, { email })

  it('is kept by the old mailbox, whose link then decides nothing more', async () => {
    const ben = await stolen.somebody()
    await ask(ben, fresh('mallory'))
    const link = await linkTo(ben)
    const web = service.web()
    await web.get(link)
    await web.submit('/link/address', { decision: 'keep' })
    expect((await call('GET', `${users}/${ben.id}`)).body).toMatchObject({ email: ben.email, pending_email: null })
    expect((await web.send('POST', '/link/address', { link: linkToken(link), decision: 'change' })).status).toBe(404)
    expect(await stolen.emailOf(ben)).toBe(ben.email)
  })

  it('is not confirmed by the link of an older one', async () => {
    const ben = await stolen.somebody()
    await ask(ben, 'ben@acme-group.example')
    const older = await linkTo(ben)
    await ask(ben, fresh('mallory'))
    expect((await service.web().get(older)).status).toBe(404)
    const form = { link: linkToken(older), decision: 'change' }
    expect((await service.web().send('POST', '/link/address', form)).status).toBe(404)
    expect(await stolen.emailOf(ben)).toBe(ben.email)
  })

  it('is cancelled by the present one, and its link with it', async () => {
    const ben = await stolen.somebody()
    await ask(ben, fresh('mallory'))
    const link = await linkTo(ben)
    expect((await ask(ben, ben.email)).body.pending_email).toBeNull()
    expect((await service.web().get(link)).status).toBe(404)
  })

  it('its link sets no password, and no other link confirms it', async () => {
    const ben = await stolen.somebody()
    await ask(ben, fresh('mallory'))
    const link = linkToken(await linkTo(ben))
    const chosen = { link, password: 'another quiet green harbour', again: 'another quiet green harbour' }
    expect((await service.web().send('POST', '/link', chosen)).status).toBe(404)
    expect((await service.web().send('POST', '/link/sign-in', { link })).status).toBe(404)
    await recover(ben.email)
    const { text } = await stolen.mailbox.waitFor(
      ({ to, subject }) => to === ben.email && /Reset your password/.test(subject),
    )
    const other = linkToken(/\/link\?token=\S+/.exec(text)?.[0] ?? '')
    expect((await service.web().send('POST', '/link/address', { link: other, decision: 'change' })).status).toBe(404)
    expect(await stolen.emailOf(ben)).toBe(ben.email)
  })

  it('is not confirmed after seven days', async () => {
    const ben = await stolen.somebody()
    await ask(ben, fresh('mallory'))
    const link = await linkTo(ben)
    await service.database.query(
      "update address_changes set expires_at = now() - interval '1 second' where user_id = $1",
      [ben.id],
    )
    expect((await service.web().get(link)).status).toBe(404)
    expect((await call('GET', `${users}/${ben.id}`)).body.pending_email).toBeNull()
    const form = { link: linkToken(link), decision: 'change' }
    expect((await service.web().send('POST', '/link/address', form)).status).toBe(404)
    expect(await stolen.emailOf(ben)).toBe(ben.email)
  })

  it('is not confirmed when another user has the address by then', async () => {
    const ben = await stolen.somebody()
    const wanted = fresh('wanted')
    await ask(ben, wanted)
    const other = await stolen.somebody()
    await service.database.query('update users set email = $2 where id = $1', [other.id, wanted])
    const link = linkToken(await linkTo(ben))
    expect((await service.web().send('POST', '/link/address', { link, decision: 'change' })).status).toBe(400)
    expect(await stolen.emailOf(ben)).toBe(ben.email)
  })

  it('of one user is not asked for another one, or given to a new one', async () => {
    const [ben, ann] = [await stolen.somebody(), await stolen.somebody()]
    const wanted = fresh('wanted')
    await ask(ben, wanted)
    expect((await ask(ann, wanted)).status).toBe(409)
    expect((await call('POST', users, { email: wanted })).status).toBe(409)
    const scim = await stolen.keyWith('scim')
    expect((await scim('POST', '/scim/2/Users', { userName: wanted })).status).toBe(409)
  })

  it('is not confirmed by an administrator who saw another one, or who is none', async () => {
    const ben = await stolen.somebody()
    await ask(ben, 'ben@acme-group.example')
    const web = await signInAs(service, service.user)
    const page = await web.get('/account/people/addresses')
    const mark = markOf(page.text, ben)
    const fields = formFields(page.text, '/account/people/addresses')
    const send = (by = web) =>
      by.send('POST', '/account/people/addresses', { ...fields, decision: 'change', [`change.${mark}`]: 'on' })
    const mallory = fresh('mallory')
    await ask(ben, mallory)
    expect((await send()).status).toBe(400)
    expect(await stolen.emailOf(ben)).toBe(ben.email)
    expect((await call('GET', `${users}/${ben.id}`)).body.pending_email).toBe(mallory)
    const clerk = await signInAs(service, await stolen.somebody())
    expect((await send(clerk)).status).toBe(403)
    expect((await clerk.send('GET', '/account/people/addresses')).status).toBe(403)
  })

  it('is confirmed by an administrator, and then the sessions of the user end', async () => {
    const ben = await stolen.somebody()
    const session = await signInAs(service, ben)
    const wanted = fresh('wanted')
    await ask(ben, wanted)
    const web = await signInAs(service, service.user)
    const page = await web.get('/account/people/addresses')
    const ticked = { [`change.${markOf(page.text, ben)}`]: 'on', decision: 'change' }
    await web.submit('/account/people/addresses', ticked)
    expect(await stolen.emailOf(ben)).toBe(wanted)
    expect((await session.send('GET', '/')).location).toContain('/sign-in')
  })

  it('mails the same mailbox at most three times an hour', async () => {
    const ben = await stolen.somebody()
    const statuses: number[] = []
    for (let time = 0; time < 4; time += 1) statuses.push((await ask(ben, fresh('mallory'))).status)
    expect(statuses).toEqual([200, 200, 200, 429])
  })
})

const linkToken = (link: string) => new URL(link, 'http://localhost').searchParams.get('token') ?? ''

/** The box of this user's change. */
function markOf(html: string, { email }: MadeUser): string {
  const at = html.indexOf(email)
  return /name="change\.([\w-]+)"/.exec(html.slice(html.lastIndexOf('<input', at)))?.[1] ?? ''
}
