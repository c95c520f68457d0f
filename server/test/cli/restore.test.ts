/** `latchkey restore`: what is left to an operator, by name. docs/operations/backup.md. */
import { appendFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { createTestDatabase, type TestDatabase } from '../rig/engines/database.ts'
import { makeEnvironment } from '../rig/make.ts'
import { runCommand } from '../rig/process/command.ts'

const FORGED = '{"kind":"account.closed","event":999999,"at":"2026-11-19 21:30:00+00","account":"acc_qf2c45s48z23"}'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-restore-'))
let database: TestDatabase
let environment: Record<string, string>
beforeAll(async () => {
  database = await createTestDatabase()
  const journal = join(folder, 'revocations.jsonl')
  environment = makeEnvironment({ DATABASE_URL: database.url, REVOCATION_JOURNAL: journal })
  appendFileSync(journal, `${FORGED}\n`)
})
afterAll(async () => {
  await database.drop()
  removeFolder(folder)
})

const latchkey = (...args: string[]) => runCommand(args, { environment })

it('a journal that somebody wrote to is told without a restore', async () => {
  const { status, stdout } = await latchkey('restore', 'check')
  expect([status, stdout]).toEqual([0, expect.stringContaining('was not restored')])
  expect(stdout).toMatch(
    /To look at in the journals:\n {2}unproven:1\n {4}Number of lines that the service did not write/,
  )
  expect(stdout).not.toContain('--accept')
})

it('a restore is finished when all that is left was accepted by name', async () => {
  await database.query(
    `insert into restores (history, noticed_at, lost_since, journalled, to_accept)
     select concat_ws('/', (select system_identifier from pg_control_system()),
       substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
       (select oid from pg_database where datname = current_database())), now(), now(), true,
       array['gap:h3k9v2m7x4qt:118', 'user.address:usr_zy7cmepk04pf', 'user.roles_changed:usr_zy7cmepk04pf']`,
  )
  const names = [
    'gap:h3k9v2m7x4qt:118',
    'unproven:1',
    'user.address:usr_zy7cmepk04pf',
    'user.roles_changed:usr_zy7cmepk04pf',
  ]
  const checked = await latchkey('restore', 'check')
  expect(checked.stdout).toContain(`Look at this, then run "latchkey restore finish --accept ${names.join(' ')}":`)
  expect(JSON.parse((await latchkey('restore', 'check', '--json')).stdout)).toMatchObject({ to_accept: names })
  expect(checked.stdout).toContain('The user has the e-mail address of before the change.')
  expect(checked.stdout).toContain('because it was changed since')

  const refused = await latchkey('restore', 'finish', '--accept', ...names.slice(1))
  expect([refused.status, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain('The restore is not finished. Look at this')
  expect(refused.stderr).toContain('gap:h3k9v2m7x4qt:118')
  expect(refused.stderr).not.toContain('user.address')

  const finished = await latchkey('restore', 'finish', '--accept', ...names)
  expect([finished.status, finished.stderr]).toEqual([0, ''])
  expect(finished.stdout).toContain('The restore is finished.')
})

it('a command with a journal needs the keys, which sign its lines', async () => {
  const { LATCHKEY_KEYS: _, ...without } = environment
  const { status, stderr } = await runCommand(['account', 'create', '--slug', 'x', '--name', 'X'], {
    environment: without,
  })
  expect([status, stderr]).toEqual([2, expect.stringContaining('LATCHKEY_KEYS')])
})
