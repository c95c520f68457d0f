/** Two installations made by one file: docs/scale.md, "How to grow". */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { createKey } from '../../src/secrets/keyset.ts'
import { askMe, connect } from '../rig/connect.ts'
import { type MadeApplication, makeUser } from '../rig/make.ts'
import { makeManagementKey } from '../rig/manage.ts'
import { runCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const CONFIGURATION = (displayMayRead: string) => `
scopes:
  parcels:read: { title: See your parcels }
  parcels:track: { title: Track your parcels }
accounts:
  harbour:
    name: Harbour
    applications:
      Display: { allowed_scopes: [${displayMayRead}], device_flow: true }
`

type Installation = { readonly service: TestService; readonly managementKey: string }

let installations: readonly Installation[]
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'latchkey-two-'))
  installations = await Promise.all(
    // Each has a database, a server and keys of its own.
    [0, 1].map(async () => {
      const service = await startTestService({ LATCHKEY_KEYS: createKey(1) })
      return { service, managementKey: (await makeManagementKey(service)).key }
    }),
  )
})
afterAll(async () => {
  await Promise.all(installations.map(({ service }) => service.stop()))
  removeFolder(folder)
})

async function applyTo({ service, managementKey }: Installation, ...args: string[]): Promise<void> {
  const environment = { LATCHKEY_SERVER: service.address, LATCHKEY_MANAGEMENT_KEY: managementKey }
  const applied = await runCommand(['apply', ...args], { environment })
  expect(applied, applied.stderr).toMatchObject({ status: 0 })
}

it('both serve the same application, whose credentials are valid where they were issued', async () => {
  const file = join(folder, 'latchkey.yaml')
  writeFileSync(file, CONFIGURATION('parcels:read'))
  const issued: { application: MadeApplication; credential: string }[] = []
  for (const [index, installation] of installations.entries()) {
    const { service } = installation
    const secrets = join(folder, `secrets-${index}.jsonl`)
    await applyTo(installation, file, '--secrets-file', secrets)
    const application = JSON.parse(readFileSync(secrets, 'utf8')) as MadeApplication
    await service.context.applications.refresh()
    const user = await makeUser(service.context.db, 'harbour')
    const { credential } = await connect(service, { application, user, scope: 'parcels:read' })
    issued.push({ application, credential })
  }
  expect(new Set(issued.map(({ application }) => application.id)).size).toBe(2)

  const answers = issued.map(({ credential }) =>
    Promise.all(installations.map(async ({ service }) => (await askMe(service, credential)).status)),
  )
  expect(await Promise.all(answers)).toEqual([
    [200, 401],
    [401, 200],
  ])

  writeFileSync(file, CONFIGURATION('parcels:read, parcels:track'))
  for (const [index, installation] of installations.entries()) {
    const { service } = installation
    await applyTo(installation, file)
    await service.context.applications.refresh()
    const device = service.device('oauth', issued[index]?.application)
    expect(await device.code({ scope: 'parcels:read,parcels:track' })).toHaveProperty('device_code')
  }
})
