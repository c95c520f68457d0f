/**
 * A kiosk: requests an access key once, which does not expire, and stores it in a file that only its owner can read. After a
 * restart it uses the stored key. When the access is revoked, it reports this and requests a new key when a user presses Enter.
 */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, isLatchkeyError } from '@latchkey/sdk'
import { fileStore } from '@latchkey/sdk/node'

const baseUrl = process.env.LATCHKEY_BASE_URL ?? 'http://localhost:8080'
const everySeconds = Number(process.env.KIOSK_SECONDS ?? 10)
const store = fileStore({ path: process.env.KIOSK_FILE ?? join(homedir(), '.local/state/acme-kiosk/key.json') })
const client = createClient({
  baseUrl,
  appId: process.env.LATCHKEY_APP_ID ?? '',
  appSecret: process.env.LATCHKEY_APP_SECRET,
  store,
  userAgent: 'Acme Kiosk (entrance)',
})
const keyboard = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

for (;;) {
  if (!(await client.credentials())) await askForKey()
  const outcome = await work()
  console.log(outcome.text)
  if (outcome.refused) await store.clear()
  else await sleep(everySeconds * 1000)
}

/** Requests one code at a time, and only on user interaction. */
async function askForKey(): Promise<void> {
  for (;;) {
    console.log('This kiosk is not connected. Press Enter for a code.')
    if ((await keyboard.next()).done) process.exit(0)
    try {
      const session = await client.device.start({ variant: 'access_key', scope: ['orders:read'], state: 'entrance' })
      console.log(`Your code is ${session.displayCode}. Enter it at ${session.verificationUrl}`)
      const { scope } = await session.wait()
      console.log(`Connected for ${scope.join(', ')}.`)
      return
    } catch (error) {
      if (!isLatchkeyError(error)) throw error
      console.log(error.message)
    }
  }
}

/** The work of the kiosk. This one only reads the account of its key. */
async function work(): Promise<{ readonly text: string; readonly refused: boolean }> {
  try {
    const response = await client.fetch(`${baseUrl}/1/me`)
    if (response.status === 401) return { text: 'The access was revoked.', refused: true }
    if (!response.ok) return { text: `The service answered ${response.status}. Trying again.`, refused: false }
    const { account } = (await response.json()) as { account: string }
    return { text: `Open for the guests of ${account}.`, refused: false }
  } catch (error) {
    return { text: `${(error as Error).message} Trying again.`, refused: false }
  }
}
