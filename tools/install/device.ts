/** From a new application to a device with access, with the command line of an installation and curl. */
import { setTimeout as sleep } from 'node:timers/promises'
import { check, count } from './report.ts'
import type { Shell } from './shell.ts'

const ADDRESS = 'http://127.0.0.1:8080'
const READY_MS = 60_000

export async function untilReady(shell: Shell): Promise<void> {
  for (const until = Date.now() + READY_MS; ; await sleep(200)) {
    try {
      return void (await shell(`curl --fail --silent --show-error ${ADDRESS}/health/ready`))
    } catch (error) {
      if (Date.now() > until) throw error
    }
  }
}

/** `latchkey`: the command line of the installation, in which the account acme, Ann and the scope orders:read exist. */
export async function grantDevice(shell: Shell, latchkey: (words: string) => Promise<string>): Promise<void> {
  const application = '--account acme --name TV --scopes orders:read --device-flow --json'
  const { id, secret } = JSON.parse(await latchkey(`app create ${application}`))
  const post = async (path: string, form: Readonly<Record<string, string>>) =>
    JSON.parse(
      await shell(`curl --silent --show-error --data @- ${ADDRESS}${path}`, new URLSearchParams(form).toString()),
    )
  const known = { SVCappid: id, SVCsecret: secret }
  const requestCode = () => post('/auth/oauth/device/code', known)
  let code = await requestCode()
  // Every process reads new applications once per second.
  for (let attempt = 1; !('device_code' in code) && attempt < 10; attempt += 1) {
    await sleep(500)
    code = await requestCode()
  }
  await latchkey(`code grant '${code.user_code}' --account acme --user ann@acme.example`)
  const answer = await post('/auth/oauth/device/polling', { ...known, device_code: code.device_code })
  check('a device is granted access', 'access_token' in answer, answer)
  count('devices granted')
}
