/** The database of docs/install.md, "One machine": its statements and commands, as written, with the names of this test. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { migrate } from '../../src/store/postgres/migrate.ts'
import { engineUrl } from '../rig/engines/database.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const SCRIPT = 'deploy/postgresql/service-role.sql'
const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')

/** Roles belong to the whole PostgreSQL, so each run has its own. */
const name = `owner_${randomBytes(6).toString('hex')}`
const { host } = new URL(engineUrl('DATABASE_URL'))
const urlOf = (role: string) => `postgres://${role}:secret@${host}/${name}`
const withNames = (text: string) =>
  text
    .replaceAll('latchkey_service', `${name}_service`)
    .replaceAll(/\blatchkey\b/g, name)
    .replaceAll('…', 'secret')
    .replaceAll('db.internal:5432', host)

const folder = mkdtempSync(join(tmpdir(), 'latchkey-install-'))
const admin = new pg.Client({ connectionString: engineUrl('DATABASE_URL') })
beforeAll(async () => {
  await admin.connect()
  mkdirSync(join(folder, 'deploy/postgresql'), { recursive: true })
  writeFileSync(join(folder, SCRIPT), withNames(readFileSync(join(ROOT, SCRIPT), 'utf8')))
})
afterAll(async () => {
  await admin.query(`drop database if exists ${name} with (force)`)
  for (const role of [`${name}_service`, name]) await admin.query(`drop role if exists ${role}`)
  await admin.end()
  removeFolder(folder)
})

it('the owner, who may not create roles, prepares the role of the service', async () => {
  const [, statements = ''] = /^```sql\n(.*?)^```$/ms.exec(page) ?? []
  for (const statement of withNames(statements).trim().split('\n')) await admin.query(statement)
  await migrate(urlOf(name))
  const [command = ''] = page.match(/^psql .*service-role\.sql.*$/m) ?? []
  // PostgreSQL's roles have the names of this test; the path has not.
  const renamed = withNames(command.replace(SCRIPT, 'SCRIPT')).replace('SCRIPT', SCRIPT)
  execFileSync('bash', ['-c', renamed], { cwd: folder, stdio: 'pipe' })

  const service = new pg.Client({ connectionString: urlOf(`${name}_service`) })
  await service.connect()
  expect((await service.query('select from accounts')).rowCount).toBe(0)
  await expect(service.query('drop table accounts')).rejects.toThrow('must be owner')
  await service.end()
})

it('psql stops at the first error of the script', () => {
  const commands = [page, readFileSync(join(ROOT, 'docs/operations/audit-log.md'), 'utf8')].flatMap(
    (text) => text.match(/^psql .*service-role\.sql.*$/gm) ?? [],
  )
  expect(commands).toHaveLength(2)
  expect(commands.filter((command) => !command.includes('-v ON_ERROR_STOP=1'))).toEqual([])
})
