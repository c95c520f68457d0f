/** TN-04 for the audit log: an account sees only its own events, whatever it requests; an export is safe for spreadsheets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byOperator } from '../../../src/core/audit/actor.ts'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import { EVERY_EVENT, readAudit } from '../../../src/flows/audit/read.ts'
import { recordEvent } from '../../../src/store/audit/events.ts'
import { connect } from '../../rig/connect.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { textOf, unescapeHtml, type Web } from '../../rig/web.ts'

type Side = {
  readonly account: { id: string; slug: string }
  readonly administrator: MadeUser
  readonly clerk: MadeUser
  readonly application: MadeApplication
  readonly web: Web
}

let service: TestService
let ours: Side
let theirs: Side
beforeAll(async () => {
  service = await startTestService()
  ours = await makeSide('ours')
  theirs = await makeSide('theirs')
  // Users of each account connected an application of the other.
  await connect(service, { user: theirs.clerk, application: ours.application })
  await connect(service, { user: ours.clerk, application: theirs.application })
  await suspendApplication(service.context.db, theirs.application.id, 'a word with their owner')
})
afterAll(() => service.stop())

async function makeSide(name: string): Promise<Side> {
  const { db } = service.context
  const account = await makeAccount(db)
  const administrator = await makeUser(db, account.slug)
  const clerk = await makeUser(db, account.slug, { holds: ['orders:read', 'orders:write'] })
  const application = await makeApplication(db, service.config, account.slug, { name: `Application of ${name}` })
  await service.context.applications.refresh()
  return { account, administrator, clerk, application, web: await signInAs(service, administrator, { account }) }
}

const exported = async (web: Web, fields: Record<string, string> = {}) => {
  await web.get('/account/audit')
  return web.submit('/account/audit/export', { format: 'ndjson', ...fields })
}
const lines = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

/** Everything that would identify the other account. */
function foreign(text: string): readonly string[] {
  const marks = [
    theirs.account.id,
    theirs.account.slug,
    theirs.administrator.email,
    theirs.clerk.email,
    theirs.clerk.id,
  ]
  return marks.filter((mark) => text.includes(mark))
}

/** Every request with ids or names of the other account in it. */
async function questions(): Promise<readonly Record<string, string>[]> {
  const [event] = await service.database.query<{ id: string }>(
    'select id from audit_events where account_id = $1 order by id desc limit 1',
    [theirs.account.id],
  )
  return [
    {},
    { person: theirs.clerk.email },
    { person: theirs.administrator.id },
    { application: theirs.application.id },
    { application: 'Application of theirs' },
    { application: ours.application.id },
    { after: event?.id ?? '' },
    { account: theirs.account.slug },
    { accountId: theirs.account.id },
    { account_id: theirs.account.id },
    { from: '2000-01-01', until: '2100-01-01' },
    { kind: 'access' },
  ]
}

describe('TN-04: for every request', () => {
  it('a page shows nothing of another account, and says that nothing was found', async () => {
    for (const question of await questions()) {
      const { status, text } = await ours.web.get(`/account/audit?${new URLSearchParams(question)}`)
      // What was typed is shown in its field.
      const typed = unescapeHtml(text).replaceAll(/ value="[^"]*"| href="[^"]*"/g, '')
      expect([question, status, foreign(typed)]).toEqual([question, 200, []])
    }
    const own = await ours.web.get(`/account/audit?application=${theirs.application.id}`)
    expect(textOf(own.text)).toContain('Allowed access for Application of theirs')
    expect(textOf(own.text)).not.toContain('Suspended')
  })

  it('a file contains nothing of another account', async () => {
    for (const question of await questions()) {
      const { status, text, headers } = await exported(ours.web, question)
      expect([question, status, foreign(text)]).toEqual([question, 200, []])
      expect(headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
      const accounts = new Set(lines(text).map(({ account }) => account))
      accounts.delete(ours.account.slug)
      expect([question, accounts.size]).toEqual([question, 0])
    }
  })

  it('the id of another account’s event is not a valid cursor', async () => {
    const [event] = await service.database.query<{ id: string }>(
      'select min(id) as id from audit_events where account_id = $1',
      [theirs.account.id],
    )
    const wish = { ...EVERY_EVENT, accountId: ours.account.id }
    expect((await readAudit(service.context, wish, event?.id ?? '')).lines).toEqual([])
  })

  it('the id of another account’s user in an own event is not resolved to a name, and an operator has none', async () => {
    await service.context.db.transaction((tx) =>
      recordEvent(tx, {
        kind: 'application.restored',
        actor: byOperator(theirs.administrator.id),
        accountId: ours.account.id,
        applicationId: ours.application.id,
        detail: { reason: 'looked into', evidence: [theirs.clerk.email] },
      }),
    )
    const { text } = await ours.web.get('/account/audit')
    expect(textOf(text)).toContain('Reinstated Application of ours Operator of the service')
    expect(foreign(text)).toEqual([])
    const [newest] = lines((await exported(ours.web)).text).filter(({ kind }) => kind === 'application.restored')
    expect(newest).toMatchObject({ who: 'operator', detail: { reason: 'looked into' } })
    expect(newest.detail).not.toHaveProperty('evidence')
  })

  it('the owner of an application sees its events, but not its users in other accounts', async () => {
    const { text } = await theirs.web.get(`/account/audit?application=${theirs.application.id}`)
    expect(textOf(text)).toContain('Suspended Application of theirs')
    expect(textOf(text)).not.toContain('Allowed access for Application of theirs')
    expect(text).not.toContain(ours.clerk.email)
  })

  it('AD-05: a clerk gets neither the page nor the file, and a form of another session is stale', async () => {
    const clerk = await signInAs(service, ours.clerk, { account: ours.account })
    expect((await clerk.get('/account/audit')).status).toBe(403)
    expect((await clerk.send('POST', '/account/audit/export', { format: 'csv' })).status).toBe(403)
    expect((await ours.web.send('POST', '/account/audit/export', { format: 'csv' })).status).toBe(403)
    expect((await ours.web.send('GET', '/account/audit/export?format=csv')).status).toBe(405)
    const abroad = service.web({}, theirs.account.slug)
    for (const [name, value] of ours.web.cookies) abroad.cookies.set(name, value)
    expect((await abroad.send('GET', '/account/audit')).location).toBe('/sign-in?next=%2Faccount%2Faudit')
  })
})

describe('AP-19: input', () => {
  const days = [
    '0000-01-01',
    '9999-12-31',
    '2026-02-30',
    '2026-13-01',
    '2026-11-15T00:00',
    "2026-11-15'--",
    '+12026-01-01',
  ]

  it.each(days)('that is not a day is reported as such: %j', async (day) => {
    for (const field of ['from', 'until']) {
      const { status, text } = await ours.web.get(`/account/audit?${new URLSearchParams({ [field]: day })}`)
      expect([field, status]).toEqual([field, 400])
      expect(textOf(text)).toContain('Enter the date as year, month and day, for example 2026-11-15.')
    }
    expect((await exported(ours.web, { until: day })).status).toBe(400)
  })

  it.each(['0001-01-01', '9998-12-31'])('that is a day is searched for, however far away: %j', async (day) => {
    for (const field of ['from', 'until']) {
      expect((await ours.web.get(`/account/audit?${field}=${day}`)).status).toBe(200)
    }
  })

  it.each(["' or 1=1 --", '%', '{}', '\u202e', '<script>', 'x'.repeat(2_000)])(
    'that matches nothing finds nothing: %j',
    async (typed) => {
      for (const field of ['person', 'application']) {
        const { status, text } = await ours.web.get(`/account/audit?${new URLSearchParams({ [field]: typed })}`)
        expect([field, status]).toEqual([field, 200])
        expect(textOf(text)).toContain('No matching entries.')
      }
      expect((await ours.web.get(`/account/audit?${new URLSearchParams({ kind: typed, after: typed })}`)).status).toBe(
        200,
      )
    },
  )
})

describe('a file', () => {
  it('is a download that is not cached, and the export is an event', async () => {
    await ours.web.get('/account/audit')
    const file = await ours.web.submit('/account/audit/export', { format: 'csv', kind: 'people' })
    expect(file.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': expect.stringMatching(
        new RegExp(`^attachment; filename="audit-${ours.account.slug}-\\d{4}-\\d\\d-\\d\\d\\.csv"$`),
      ),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    const rows = file.text.split('\r\n')
    expect(rows[0]).toMatch(/^\ufeffid,at,kind,who,actor_kind,actor_id,via,account,/)
    const { text } = await ours.web.get('/account/audit')
    expect(textOf(text)).toContain(`Downloaded the audit log ${ours.administrator.email}`)
    const [event] = lines((await exported(ours.web)).text)
    expect(event).toMatchObject({ kind: 'audit.exported', detail: { format: 'csv', rows: rows.length - 2 } })
  })

  it.each(['xml', '', 'csv2'])('has no other format: %j', async (format) => {
    expect((await exported(ours.web, { format })).status).toBe(400)
  })

  it('needs a recent sign-in, which leads back to the same search', async () => {
    await ours.web.get('/account/audit')
    await service.database.query("update sessions set authenticated_at = now() - interval '1 day' where user_id = $1", [
      ours.administrator.id,
    ])
    const { text } = await ours.web.submit('/account/audit/export', { person: 'a+b@x.example', format: 'csv' })
    expect(text).toContain('value="/confirm?next=%2Faccount%2Faudit%3Fkind%3D%26person%3Da%252Bb%2540x.example')
    await service.database.query('update sessions set authenticated_at = now() where user_id = $1', [
      ours.administrator.id,
    ])
  })

  it('has text in cells that a spreadsheet would take for a formula', async () => {
    const names = ['=HYPERLINK("http://evil.example","x")', '+1+1', '-2+3', '@SUM(A1)']
    for (const name of names) {
      const { db } = service.context
      const made = await makeApplication(db, service.config, ours.account.slug)
      await service.database.query('update applications set name = $2 where id = $1', [made.id, name])
    }
    await makeUser(service.context.db, ours.account.slug, { email: '=cmd@ours.example' })
    await ours.web.get('/account/audit')
    const { text } = await ours.web.submit('/account/audit/export', { format: 'csv' })
    const cells = text
      .replace('\ufeff', '')
      .split('\r\n')
      .flatMap((row) =>
        Array.from(row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g), ([, quoted, plain]) => quoted ?? plain ?? ''),
      )
    expect(cells.filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([])
    for (const name of names) expect(text).toContain(`'${name}`.replaceAll('"', '""'))
    expect(text).toContain("'=cmd@ours.example")
    expect(lines((await exported(ours.web)).text).map(({ application }) => application)).toContain(names[0])
  })

  it('ends after fifty thousand entries and names the start of the next file', {
    timeout: 120_000,
  }, async () => {
    const crowded = await makeSide('crowded')
    await service.database.query(
      `insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, detail)
       select now() - i * interval '1 second', 'grant.issued', 'service', 'test', 'job', $1, jsonb_build_object('rows', i) from generate_series(1, 50050) i`,
      [crowded.account.id],
    )
    const first = lines((await exported(crowded.web, { kind: 'access' })).text)
    const { kind, detail } = first.pop()
    expect([first.length, kind]).toEqual([50_000, 'continues'])
    expect(detail.at).toBe(`${crowded.web.origin}/account/audit?kind=access&after=${first.at(-1).id}`)
    const page = await crowded.web.get(detail.at.slice(crowded.web.origin.length))
    expect(page.status).toBe(200)
    const rest = lines((await crowded.web.submit('/account/audit/export', { format: 'ndjson' })).text)
    expect(rest).toHaveLength(50)
    expect([...first, ...rest].map((each) => each.detail.rows)).toEqual(
      Array.from({ length: 50_050 }, (_, index) => index + 1),
    )
  })
})
