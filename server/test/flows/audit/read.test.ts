/** The audit log for display: search, pages, names of actors and subjects. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byUser } from '../../../src/core/audit/actor.ts'
import { kindsIn } from '../../../src/core/audit/kind.ts'
import { disablePerson, setPersonRoles } from '../../../src/flows/accounts/people.ts'
import { removeRole, saveRole } from '../../../src/flows/accounts/roles.ts'
import {
  restoreApplication,
  setApplicationPublisher,
  suspendApplication,
} from '../../../src/flows/applications/manage.ts'
import { type AuditWish, EVERY_EVENT, readAudit } from '../../../src/flows/audit/read.ts'
import { listRoles } from '../../../src/store/accounts/roles.ts'
import { recordEvent } from '../../../src/store/audit/events.ts'
import { connect } from '../../rig/connect.ts'
import { rotateSecret, setRedirects } from '../../rig/create.ts'
import { type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let ann: MadeUser
let ben: MadeUser
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
  ann = service.user
  ben = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
})
afterAll(() => service.stop())

const wish = (given: Partial<AuditWish> = {}): AuditWish => ({
  ...EVERY_EVENT,
  accountId: service.account.id,
  ...given,
})
const read = async (given: Partial<AuditWish> = {}, after: string | null = null) =>
  readAudit(service.context, wish(given), after)
const kinds = async (given: Partial<AuditWish> = {}) => (await read(given)).lines.map(({ kind }) => kind)
const now = async () => {
  const [row] = await service.database.query<{ now: Date }>('select now() as now')
  return row?.now.getTime() ?? 0
}

describe('a line', () => {
  it('names the actor, the subject and the details', async () => {
    await saveRole(service.context, ann.id, { id: null, name: 'Early shift', scopes: [] })
    const role = (await listRoles(service.context.db, service.account.id)).find(({ name }) => name === 'Early shift')
    await setPersonRoles(service.context, ann.id, ben.id, [role?.id ?? ''])
    const [line] = (await read()).lines
    expect(line).toMatchObject({
      kind: 'user.roles_changed',
      who: { is: 'person', name: ann.email },
      person: ben.email,
      application: null,
      detail: { added: ['Early shift'], removed: [expect.stringMatching(/^role \d+$/)] },
    })
    expect(line?.detail).not.toHaveProperty('by')
  })

  it('names the application, the service or the operator as the actor', async () => {
    const { grantId } = await connect(service, { user: ann })
    const application = await service.context.applications.find(service.application.id)
    const lines = (await read()).lines.filter((line) => line.grantId === grantId)
    expect(lines.map(({ kind, who }) => [kind, who])).toEqual([
      ['grant.issued', { is: 'application', name: application?.name }],
      // On the command line, for the user.
      ['grant.created', { is: 'operator' }],
    ])
    const [created] = (await read({ kinds: ['account.created'] })).lines
    expect(created?.who).toEqual({ is: 'operator' })
  })

  it('shows a user of another account as an unknown person, not as the operator', async () => {
    const { db } = service.context
    const stranger = await makeUser(db, (await makeAccount(db)).slug)
    await db.transaction((tx) =>
      recordEvent(tx, { kind: 'user.roles_changed', actor: byUser(stranger.id), accountId: service.account.id }),
    )
    const [line] = (await read()).lines
    expect([line?.actorId, line?.who]).toEqual([stranger.id, { is: 'person', name: null }])
  })

  it('of a removed role keeps its name', async () => {
    await saveRole(service.context, ann.id, { id: null, name: 'Night shift', scopes: [] })
    const role = (await listRoles(service.context.db, service.account.id)).find(({ name }) => name === 'Night shift')
    await removeRole(service.context, ann.id, role?.id ?? '')
    const lines = (await read({ kinds: ['role.created', 'role.removed'] })).lines
    expect(lines[0]?.detail).toMatchObject({ name: 'Night shift', role: role?.id })
  })

  it('gets its position in the chain a moment later', async () => {
    await disablePerson(service.context, ann.id, ben.id)
    for (let looks = 0; (await read()).lines[0]?.position === null && looks < 200; looks += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const { lines, sealed } = await read()
    const [seal] = await service.database.query<{ position: string; hash: Buffer }>(
      'select position, hash from audit_seals where event_id = $1',
      [lines[0]?.id],
    )
    expect(lines[0]).toMatchObject({ position: Number(seal?.position), hash: seal?.hash })
    expect(sealed).toEqual({ position: lines[0]?.position, at: lines[0]?.at })
  })
})

describe('events of an application are in the log of the account that owns it', () => {
  it('also those of an operator', async () => {
    const { db } = service.context
    const { id } = await makeApplication(db, service.config, service.account.slug, { name: 'Watched' })
    await suspendApplication(db, id, 'polls too fast')
    await restoreApplication(db, id, 'fixed')
    await rotateSecret(service.context, id)
    await setApplicationPublisher(db, id, { name: null, status: 'own' })
    await setRedirects(service.context, id, ['https://watched.example/back'])
    const { lines } = await read({ application: 'WATCHED' })
    expect(lines.map(({ kind, who, application }) => [kind, who.is, application])).toEqual([
      ['application.changed', 'operator', 'Watched'],
      ['application.publisher_set', 'operator', 'Watched'],
      ['application.secret_rotated', 'operator', 'Watched'],
      ['application.restored', 'operator', 'Watched'],
      ['application.suspended', 'operator', 'Watched'],
      ['application.created', 'operator', 'Watched'],
    ])
    expect((await read({ application: id })).lines).toEqual(lines)
  })
})

describe('a search', () => {
  it('by kind', async () => {
    const found = await kinds({ kinds: kindsIn('people') })
    expect(found).toContain('user.disabled')
    expect(found.filter((kind) => !kindsIn('people').some((each) => each === kind))).toEqual([])
  })

  it('by person, as subject or actor, with any spelling of the address', async () => {
    expect(await kinds({ person: ben.email.toUpperCase() })).toEqual([
      'user.disabled',
      'user.roles_changed',
      'user.created',
    ])
    const byAnn = await kinds({ person: ann.email })
    expect(byAnn).toContain('user.disabled')
    expect(byAnn).toContain('grant.created')
    expect(await kinds({ person: 'nobody@nowhere.example' })).toEqual([])
  })

  it('by application', async () => {
    expect(await kinds({ application: service.application.id })).toEqual([
      'grant.issued',
      'grant.created',
      'code.claimed',
      'application.created',
    ])
    expect(await kinds({ application: 'app_000000000000' })).toEqual([])
  })

  it('by time, from inclusive, until exclusive', async () => {
    await service.database.advance(3_600_000)
    const start = await now()
    await saveRole(service.context, ann.id, { id: null, name: 'Late shift', scopes: [] })
    await service.database.advance(3_600_000)
    const end = await now()
    expect(await kinds({ from: start, until: end })).toEqual(['role.created'])
    expect(await kinds({ from: end })).toEqual([])
    expect((await kinds({ until: start })).length).toBeGreaterThan(10)
  })

  it('by all of them', async () => {
    expect(await kinds({ person: ann.email, kinds: ['grant.created'], application: service.application.id })).toEqual([
      'grant.created',
    ])
  })
})

describe('an operator', () => {
  it('sees the events of all accounts and of none, and can filter by account', async () => {
    const everything = await read({ accountId: null, kinds: ['scope.created', 'role.created'] })
    const accounts = new Set(everything.lines.map(({ account }) => account))
    expect(accounts).toEqual(new Set([null, service.account.slug]))
    const one = await read({ accountId: null, account: service.account.slug, kinds: ['role.created'] })
    expect(one.lines.every(({ accountId }) => accountId === service.account.id)).toBe(true)
    expect(one.lines.length).toBeGreaterThan(0)
    expect((await read({ accountId: null, account: 'nobody' })).lines).toEqual([])
    expect(
      (await read({ accountId: null, application: service.application.id, kinds: ['grant.created'] })).lines,
    ).toHaveLength(1)
  })
})

describe('pages', () => {
  const many = async (count: number, kind: string) => {
    await service.database.query(
      `insert into audit_events (at, kind, actor_kind, actor_id, via, account_id) select now(), $1, 'service', 'test', 'job', $2 from generate_series(1, $3)`,
      [kind, service.account.id, count],
    )
  }

  it('have every event once, the newest first, also those of the same moment', async () => {
    await many(120, 'code.rejected')
    const seen: number[] = []
    let after: string | null = null
    do {
      const page = await read({}, after)
      expect(page.lines.length).toBeLessThanOrEqual(50)
      seen.push(...page.lines.map(({ id }) => id))
      after = page.after === null ? null : String(page.after)
    } while (after !== null)
    const all = await service.database.query<{ id: string }>(
      'select id from audit_events where account_id = $1 order by at desc, id desc',
      [service.account.id],
    )
    expect(seen).toEqual(all.map(({ id }) => Number(id)))
  })

  it.each(['0', '-1', 'x', '1e3', '1; drop table audit_events', '999999999999999999999'])(
    'what cannot be an entry is the first page: %j',
    async (after) => {
      expect((await read({}, after)).lines[0]?.id).toBe((await read()).lines[0]?.id)
    },
  )

  it('may be empty when matches are rare, and the next one continues', async () => {
    await many(5_100, 'grant.issued')
    const first = await read({ kinds: ['role.removed'] })
    expect(first.lines).toEqual([])
    expect(first.after).not.toBeNull()
    const second = await read({ kinds: ['role.removed'] }, String(first.after))
    expect(second.lines.map(({ kind }) => kind)).toEqual(['role.removed'])
    expect(second.after).toBeNull()
  })
})
