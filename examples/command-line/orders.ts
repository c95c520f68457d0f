/**
 * A command-line tool: `login` with a code, `list` the orders of the API in examples/api, `logout`. It runs on users' machines and cannot
 * keep a secret, so it is registered as a public application without one.
 */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createClient, isLatchkeyError } from '@latchkey/sdk'
import { fileStore } from '@latchkey/sdk/node'

const apiUrl = process.env.ORDERS_API_URL ?? 'http://127.0.0.1:4001'
const folder = process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config')
const client = createClient({
  baseUrl: process.env.LATCHKEY_BASE_URL ?? 'http://localhost:8080',
  appId: process.env.LATCHKEY_PUBLIC_APP_ID ?? '',
  store: fileStore({ path: join(folder, 'acme-orders', 'credentials.json') }),
  userAgent: 'acme-orders',
})

const commands: Record<string, () => Promise<void>> = {
  login: async () => {
    const session = await client.device.start({ variant: 'token_set', scope: ['orders:read'] })
    console.error(`Your code is ${session.displayCode}\nEnter it at ${session.verificationUrl}`)
    console.error(`It is valid for ${Math.ceil(session.remaining() / 60)} minutes. Waiting …`)
    // Ctrl-C stops waiting and ends the program.
    await session.wait()
    console.error('You are logged in.')
  },
  list: async () => {
    const response = await client.fetch(`${apiUrl}/orders`)
    if (!response.ok) throw new Error(`${apiUrl} answered ${response.status}: ${await response.text()}`)
    const { orders } = (await response.json()) as { orders: { id: number; what: string }[] }
    for (const { id, what } of orders) console.log(`${id}\t${what}`)
  },
  logout: async () => {
    await client.revoke()
    console.error('You are logged out, and the access is revoked.')
  },
}

const command = commands[process.argv[2] ?? '']
if (!command) {
  console.error('orders login | list | logout')
  process.exit(2)
}
try {
  await command()
} catch (error) {
  const hint = isLatchkeyError(error, 'not_authorized') || isLatchkeyError(error, 'reauthorize')
  console.error(hint ? 'You are not logged in: orders login' : (error as Error).message)
  process.exitCode = 1
}
