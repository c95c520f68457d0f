/** The kiosk: asks once, stores its key, and notices when it was revoked. */
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { post } from '../../server/test/rig/device.ts'
import { codeOf, useTrying } from './rig/trying.ts'

const trying = useTrying()

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-kiosk-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

test('a kiosk gets its key, uses it after a restart, and asks again when it was revoked', async () => {
  const { service } = trying
  const file = join(await emptyFolder(), 'kiosk', 'key.json')
  const start = () => trying.start('kiosk/kiosk.ts', { KIOSK_FILE: file, KIOSK_SECONDS: '0.2' })

  const first = start()
  await first.says(/Press Enter/)
  first.type('')
  await service.grant(await codeOf(first))
  await first.says(/Connected for orders:read/)
  await first.says(new RegExp(`Open for the guests of ${service.account.slug}`))
  await first.stop()
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600')

  const second = start()
  expect((await second.says(/.*\n/))[0]).toMatch(/^Open for the guests/)
  const { accessKey } = JSON.parse(await readFile(file, 'utf8'))
  const { id: SVCappid, secret: SVCsecret } = service.application
  const form = { SVCappid, SVCsecret, access_key: accessKey }
  expect((await post(service.address, '/auth/key/revoke', { form })).status).toBe(200)
  await second.says(/The access was revoked/)
  await second.says(/Press Enter/)
  second.type('')
  await service.grant(await codeOf(second))
  await second.says(/Open for the guests/)
  expect(JSON.parse(await readFile(file, 'utf8')).accessKey).not.toBe(accessKey)
})

test('a kiosk whose code is rejected or expires requests no other by itself', async () => {
  const { service } = trying
  const codes = async () => (await service.database.query('select from device_codes')).length
  const kiosk = trying.start('kiosk/kiosk.ts', { KIOSK_FILE: join(await emptyFolder(), 'key.json') })
  await kiosk.says(/Press Enter/)
  const before = await codes()
  kiosk.type('')
  await service.reject(await codeOf(kiosk))
  await kiosk.says(/The user rejected/)
  await kiosk.says(/Press Enter/)
  expect(await codes()).toBe(before + 1)
  kiosk.type('')
  await codeOf(kiosk)
  await service.database.advance(601_000)
  await kiosk.says(/The code expired/)
  await kiosk.says(/Press Enter/)
  expect(await codes()).toBe(before + 2)
})
