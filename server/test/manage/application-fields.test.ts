/**
 * Every setting of an application is in the management API, in `latchkey apply` and `latchkey export`, in the audit log
 * under a name that the account may read, and in the developer console.
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { readConfigurationFile } from '../../src/cli/manage/document.ts'
import { createManagementClient } from '../../src/cli/manage/management-client.ts'
import { readWhole } from '../../src/cli/manage/read-service.ts'
import type { ApplicationSettings } from '../../src/core/applications/settings.ts'
import { isAuditDetail } from '../../src/core/audit/detail.ts'
import type { ApplicationEntry } from '../../src/core/manage/configuration.ts'
import type { ChangedSettings } from '../../src/flows/applications/own.ts'
import { makeScopes } from '../rig/make.ts'
import { type ManageClient, makeManagementKey, manageClient } from '../rig/manage.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signInAs } from '../rig/signed-in.ts'

type Setting = {
  /** In the API and in the file; the name is the key of the application there. */
  readonly member: keyof ApplicationEntry | 'name'
  readonly before: unknown
  readonly after: unknown
  /** What the console shows of the second value only. */
  readonly shown: RegExp
}

/** A setting without a row here does not compile. */
const settings: Readonly<Record<keyof (ApplicationSettings & ChangedSettings), Setting>> = {
  name: { member: 'name', before: 'Order Board', after: 'Order Wall', shown: /value="Order Wall"/ },
  allowedScopes: {
    member: 'allowed_scopes',
    before: ['orders:read'],
    after: ['orders:read', 'orders:write', 'stock:read'],
    shown: /name="use\.orders:write"(?:(?!<\/select>).)*<option value="(?:may|default|required)" selected/s,
  },
  defaultScopes: {
    member: 'default_scopes',
    before: ['orders:read'],
    after: ['orders:read', 'orders:write'],
    shown: /name="use\.orders:write"(?:(?!<\/select>).)*<option value="default" selected/s,
  },
  requiredScopes: {
    member: 'required_scopes',
    before: [],
    after: ['orders:read'],
    shown: /name="use\.orders:read"(?:(?!<\/select>).)*<option value="required" selected/s,
  },
  deviceFlow: { member: 'device_flow', before: false, after: true, shown: /<input[^>]*id="device_flow"[^>]*checked/ },
  redirectUris: {
    member: 'redirect_uris',
    before: ['https://app.example/one'],
    after: ['https://app.example/two'],
    shown: /https:\/\/app\.example\/two/,
  },
  pkceRequired: {
    member: 'pkce_required',
    before: false,
    after: true,
    shown: /<input[^>]*id="require_pkce"[^>]*checked/,
  },
}
const rows = Object.entries(settings)
const valuesOf = (when: 'before' | 'after') => Object.fromEntries(rows.map(([, each]) => [each.member, each[when]]))

let service: TestService
let call: ManageClient
let applications: string
const folder = mkdtempSync(join(tmpdir(), 'latchkey-fields-'))
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' })
  await makeScopes(service.context.db, ['stock:read'])
  const { key } = await makeManagementKey(service)
  call = manageClient(service.address, key)
  applications = `/accounts/${service.account.slug}/applications`
})
afterAll(async () => {
  await service.stop()
  removeFolder(folder)
})

async function register(): Promise<string> {
  const { status, body } = await call('POST', applications, valuesOf('before'))
  expect(status).toBe(201)
  return body.id
}

async function consoleOf(id: string): Promise<string> {
  const web = await signInAs(service, service.user)
  const page = async (path: string) => (await web.get(`${path}?application=${id}`)).text
  return (await page('/developer/application')) + (await page('/developer/application/settings'))
}

describe.each(rows)('%s', (name, { member, after, before, shown }) => {
  it('is set and shown by the management API, recorded under a name that the account reads, and in the console', async () => {
    const id = await register()
    expect((await call('GET', `${applications}/${id}`)).body[member]).toEqual(before)
    expect(await consoleOf(id)).not.toMatch(shown)

    // All at once: a default scope has to be an allowed one.
    const change = { ...valuesOf('before'), allowed_scopes: valuesOf('after').allowed_scopes, [member]: after }
    expect((await call('PATCH', `${applications}/${id}`, change)).status).toBe(200)
    expect((await call('GET', `${applications}/${id}`)).body[member]).toEqual(after)
    const [event] = await service.database.query<{ detail: Record<string, unknown> }>(
      `select detail from audit_events where kind = 'application.changed' and application_id = $1`,
      [id],
    )
    expect([isAuditDetail(name), event?.detail[name]]).toEqual([true, after])
    expect(await consoleOf(id)).toMatch(shown)
    await call('DELETE', `${applications}/${id}`)
  })
})

describe('a configuration file', () => {
  const { name, ...after } = valuesOf('after')

  it('may name every setting', () => {
    const file = join(folder, 'latchkey.yaml')
    const entry = { ...after, public: true, resource_server: true } satisfies Record<string, unknown>
    writeFileSync(
      file,
      JSON.stringify({ accounts: { acme: { name: 'Acme', applications: { [String(name)]: entry } } } }),
    )
    const read = readConfigurationFile(file).configuration
    expect(read.accounts?.acme?.applications?.[String(name)]).toEqual(entry)
  })

  it('that is exported has every setting', async () => {
    const { id } = (await call('POST', applications, valuesOf('after'))).body
    const { key } = await makeManagementKey(service)
    const { accounts } = await readWhole(createManagementClient(service.address, key))
    const exported = accounts.get(service.account.slug)?.applications.find((each) => each.id === id)
    expect(exported).toEqual({ id, name, entry: { ...after, public: false, resource_server: false } })
  })
})
