/** `latchkey import users`: every line is added once or refused with its number, and imported passwords work. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hash as argon2 } from '@node-rs/argon2'
import { hash as bcrypt } from '@node-rs/bcrypt'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { makeAccount, makeEnvironment } from '../rig/make.ts'
import { runCommand, startCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let folder: string
beforeAll(async () => {
  service = await startTestService()
  folder = mkdtempSync(join(tmpdir(), 'latchkey-import-'))
})
afterAll(async () => {
  removeFolder(folder)
  await service.stop()
})

const environment = (given = {}) => makeEnvironment({ DATABASE_URL: service.database.url, ...given })
const write = (name: string, text: string | Buffer) => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}
const run = (file: string, ...options: string[]) =>
  runCommand(['import', 'users', file, ...options], { environment: environment() })
const usersOf = (accountId: string) =>
  service.database.query<{ email: string; name: string | null; digest: string | null; roles: number; events: number }>(
    `select u.email, u.name, u.password_digest as digest, (select count(*)::int from user_roles r where r.user_id = u.id) as roles,
       (select count(*)::int from audit_events e where e.user_id = u.id and e.kind = 'user.created') as events
     from users u where u.account_id = $1 order by u.email`,
    [accountId],
  )

it('adds users from CSV and JSON lines, refuses lines with their number, and adds nobody twice', async () => {
  const { id, slug } = await makeAccount(service.context.db)
  const hashed = await bcrypt('correct horse battery', 4)
  const csv = write(
    'users.csv',
    `\uFEFFemail,account,roles,name,password_hash\r
Ann@Acme.example,${slug},administrator,"Ann, of Acme",${hashed}\r
not an address,${slug},administrator,,\r
ben@acme.example,${slug},nobody,,\r
cat@acme.example,nowhere,administrator,,\r
dan@acme.example,${slug},administrator,,md5\r
eve@acme.example,${slug}\r
fay@acme.example,${slug}, administrator ; administrator,,`,
  )
  const dry = await run(csv, '--dry-run', '--json')
  expect(JSON.parse(dry.stdout)).toEqual({ added: 2, existing: 0, refused: 5, dry_run: true })
  expect(await usersOf(id)).toEqual([])

  const { status, stdout, stderr } = await run(csv)
  expect([status, stdout.trim()]).toEqual([1, 'Added 2 users; 0 exist already; 5 refused.'])
  const lines = stderr.trim().split('\n')
  expect(lines.map((line) => Number(/:(\d+):/.exec(line)?.[1])).sort()).toEqual([3, 4, 5, 6, 7])
  expect(stderr).toContain(`${csv}:4: The account "${slug}" has no role "nobody".`)
  expect(await usersOf(id)).toEqual([
    { email: 'ann@acme.example', name: 'Ann, of Acme', digest: `imported:${hashed}`, roles: 1, events: 1 },
    { email: 'fay@acme.example', name: null, digest: null, roles: 1, events: 1 },
  ])

  const jsonl = write(
    'users.jsonl',
    `${[
      { account: slug, email: 'ann@acme.example', roles: ['administrator'] },
      { account: slug, email: 'gus@acme.example', roles: ['administrator'], name: null },
      { account: slug, email: 'hal@acme.example', roles: 'administrator' },
      { account: slug, email: 'ida@acme.example', roles: ['administrator'], external_id: '7' },
      { account: slug, email: 'jon@acme.example', roles: ['administrator'], phone: '1' },
      { account: slug, email: 'kim@acme.example', roles: ['administrator'], external_id: 'a\0b' },
    ]
      .map((line) => JSON.stringify(line))
      .join('\n')}\n{"account":`,
  )
  const second = await run(jsonl, '--json')
  expect(JSON.parse(second.stdout)).toMatchObject({ added: 2, existing: 1, refused: 4 })
  const ida = "select origin, external_id from users where email = 'ida@acme.example'"
  expect(await service.database.query(ida)).toEqual([{ origin: 'own', external_id: '7' }])
  expect(second.stderr).toContain(':5: ')
  expect((await usersOf(id))[0]?.digest).toBe(`imported:${hashed}`)
})

it('users of the host service have an external id and no password', async () => {
  const { id, slug } = await makeAccount(service.context.db)
  const rows = [
    [slug, 'a@x.example', 'administrator', '1', ''],
    [slug, 'b@x.example', 'administrator', '1', ''],
    [slug, 'c@x.example', 'administrator', '', ''],
    [slug, 'd@x.example', 'administrator', '4', await bcrypt('x', 4)],
  ]
  const file = write('host.csv', `account,email,roles,external_id,password_hash\n${rows.join('\n')}\n`)
  const host = { SIGN_IN_URL: 'https://acme.example/sign-in', SIGN_IN_KEYS: 'https://acme.example/jwks' }
  const { stdout, stderr } = await runCommand(['import', 'users', file, '--json'], { environment: environment(host) })
  expect(JSON.parse(stdout)).toMatchObject({ added: 1, refused: 3 })
  expect(stderr).toContain(':3: Another user has the external id "1".')
  expect(await service.database.query('select origin, external_id from users where account_id = $1', [id])).toEqual([
    { origin: 'host', external_id: '1' },
  ])
})

it('nobody is imported into the operators’ account', async () => {
  const file = write('operators.csv', `account,email,roles\n${service.account.slug},x@y.example,administrator\n`)
  const { status, stderr } = await runCommand(['import', 'users', file], {
    environment: environment({ OPERATOR_ACCOUNT: service.account.slug }),
  })
  expect([status, stderr]).toEqual([1, expect.stringMatching(/:2: Users of the operators’ account are not imported/)])
})

it('refuses a file whose columns or kind it does not know', async () => {
  const refusals = [
    [write('a.csv', 'account,email,roles,phone\n'), /no column "phone"/],
    [write('b.csv', 'account,email\n'), /does not name the column "roles"/],
    [write('users.txt', ''), /ends with \.csv, \.jsonl or \.ndjson/],
    [join(folder, 'missing.csv'), /There is no file/],
    [write('latin1.csv', Buffer.from('account,email,roles\nacme,j\u00fcrgen@x.example,a\n', 'latin1')), /is not UTF-8/],
    [write('cut.csv', Buffer.from('account,email,roles\nacme,j\u00fc').subarray(0, -1)), /is not UTF-8/],
  ] as const
  for (const [file, words] of refusals) {
    expect(await run(file)).toMatchObject({ status: 1, stderr: expect.stringMatching(words) })
  }
})

it('killed in the middle and run again, it has added every user once', {
  timeout: 180_000,
}, async () => {
  const { id, slug } = await makeAccount(service.context.db)
  const count = 8_000
  const lines = Array.from({ length: count }, (_, n) => `${slug},user${n}@many.example,administrator`)
  const file = write('many.csv', `account,email,roles\n${lines.join('\n')}\n`)
  const command = startCommand(['import', 'users', file], { environment: environment() })
  const counts = async () => {
    const [row] = await service.database.query<{ users: number; roles: number; events: number }>(
      `select (select count(*)::int from users where account_id = $1) as users,
         (select count(*)::int from user_roles r join users u on u.id = r.user_id where u.account_id = $1) as roles,
         (select count(*)::int from audit_events where account_id = $1 and kind = 'user.created') as events`,
      [id],
    )
    return row ?? { users: 0, roles: 0, events: 0 }
  }
  while ((await counts()).users === 0) await sleep(5)
  command.kill('SIGKILL')
  await command.ended
  const before = (await counts()).users
  const { status, stdout } = await run(file, '--json')
  const result = JSON.parse(stdout)
  expect([status, result.refused, result.added + result.existing]).toEqual([0, 0, count])
  expect(result.existing).toBeGreaterThanOrEqual(before)
  expect(result.existing).toBeLessThan(count)
  expect(await counts()).toEqual({ users: count, roles: count, events: count })
})

it('shows a bar on a terminal', async () => {
  const { slug } = await makeAccount(service.context.db)
  const lines = Array.from({ length: 1_200 }, (_, n) => `${slug},user${n}@bar.example,administrator`)
  const file = write('bar.csv', `account,email,roles\n${lines.join('\n')}\n`)
  const { stdout } = await runCommand(['import', 'users', file], { environment: environment(), terminal: true })
  expect(stdout).toMatch(/\[#+-*\] \d+ % {2}1000 users, \d+ a second/)
  expect(stdout).toContain('Added 1200 users; 0 exist already; 0 refused.')
})

it('an imported user signs in with the old password, whose digest is then replaced by ours', async () => {
  const { id, slug } = await makeAccount(service.context.db)
  const password = 'correct horse battery'
  const rows = [
    [slug, 'argon@old.example', 'administrator', `"${await argon2(password, { memoryCost: 4096, timeCost: 1 })}"`],
    [slug, 'bcrypt@old.example', 'administrator', await bcrypt(password, 5)],
  ]
  await run(write('old.csv', `account,email,roles,password_hash\n${rows.map((row) => row.join(',')).join('\n')}\n`))
  for (const email of ['argon@old.example', 'bcrypt@old.example']) {
    const digest = async () => (await usersOf(id)).find((user) => user.email === email)?.digest
    await service.web({}, slug).signIn(email, `${password}!`)
    expect(await digest()).toMatch(/^imported:/)
    const web = service.web({}, slug)
    await web.signIn(email, password)
    expect(web.cookies.has('__Host-session')).toBe(true)
    expect(await digest()).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    const again = service.web({}, slug)
    await again.signIn(email, password)
    expect(again.cookies.has('__Host-session')).toBe(true)
  }
})

it('two browsers that sign in at the same time are both let in', async () => {
  const { id, slug } = await makeAccount(service.context.db)
  const hashed = await bcrypt('correct horse battery', 8)
  await run(write('two.csv', `account,email,roles,password_hash\n${slug},two@old.example,administrator,${hashed}\n`))
  const browsers = [service.web({}, slug), service.web({}, slug)]
  await Promise.all(browsers.map((web) => web.signIn('two@old.example', 'correct horse battery')))
  expect(browsers.map((web) => web.cookies.has('__Host-session'))).toEqual([true, true])
  expect((await usersOf(id))[0]?.digest).toMatch(/^\$argon2id\$/)
})
