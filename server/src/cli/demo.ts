/**
 * `latchkey demo`: runs the device flow against a running service, from the code request to the revocation, and
 * explains each request in one line. To try it: `npm run dev` in one terminal, `npm run latchkey -- demo --grant` in another.
 */
import { type Client, createClient } from '@latchkey/sdk'
import type { Command } from 'commander'
import { formatScope } from '../core/grants/scope.ts'
import { grantDeviceCode } from '../flows/device/decide.ts'
import { addClientOptions, type ClientOptions, readChosen } from './client/client-settings.ts'
import { type Described, describeAccess } from './client/describe-access.ts'
import { explainRefusal } from './client/explain-refusal.ts'
import { CommandRefused, EXPIRED, print, REJECTED } from './client/output.ts'
import { asUser, enter } from './code.ts'
import { explainExchanges } from './demo-exchanges.ts'
import type { Wiring } from './wiring.ts'

type DemoOptions = ClientOptions & { grant?: boolean; account: string; user: string }

export function defineDemo(command: Command, wiring: Wiring): void {
  addClientOptions(command)
    .option('--grant', 'also act as the user, with the configuration of the service; otherwise wait for your decision')
    .option('--account <slug>', 'the account of the user', 'acme')
    .option('--user <email>', 'the user who decides', 'ann@acme.example')
    .option('--json', 'write the explanations to standard error and print one JSON object at the end')
    .action((options: DemoOptions) => demo(wiring, options))
}

async function demo(wiring: Wiring, options: DemoOptions): Promise<void> {
  const chosen = await readChosen(options, null)
  const { server: baseUrl, application: appId, secret: appSecret } = chosen
  const say = (words: string) => (options.json ? console.error(words) : console.log(words))
  const exchanges = explainExchanges(say)
  const client = createClient({
    baseUrl,
    appId,
    appSecret,
    fetch: exchanges.fetch,
    holdPolls: false,
    userAgent: 'latchkey demo',
  })
  try {
    const access = await play(client, wiring, options, baseUrl, say)
    const value = { ...access, exchanges: exchanges.count() }
    print(
      options,
      value,
      '\nThe device flow is complete. docs/interface.md describes every request; the client library does the polling.',
    )
  } catch (error) {
    throw explainRefusal(error, chosen)
  }
}

async function play(
  client: Client,
  wiring: Wiring,
  options: DemoOptions,
  server: string,
  say: (words: string) => void,
): Promise<Described> {
  const session = await client.device.start({ variant: 'token_set' })
  say(`\n    The device shows:   ${session.displayCode}\n`)
  if (!options.grant) {
    say(`Open ${session.verificationUrl}, sign in, type the code and decide. Or grant it in another terminal:`)
    say(`  npm run latchkey -- code grant ${session.userCode} --account ${options.account} --user ${options.user}\n`)
  }
  let toGrant = options.grant
  for await (const event of session) {
    if (event.type === 'rejected') throw new CommandRefused('The user rejected the request.', REJECTED)
    if (event.type === 'expired') throw new CommandRefused('The code expired. Start again for a new one.', EXPIRED)
    if (event.type === 'pending' && toGrant) {
      toGrant = false
      say(await grant(wiring, options, session.userCode))
    }
  }
  const access = await describeAccess(client, { server })
  await client.revoke()
  return access
}

/** Grants the code as the user, through the same flow as the account's page. */
async function grant(wiring: Wiring, options: DemoOptions, userCode: string): Promise<string> {
  let words = ''
  await asUser(wiring, options, async (context, userId) => {
    const { code } = await enter(context, userId, userCode)
    const result = await grantDeviceCode(context, userId, code)
    if (result.outcome !== 'granted')
      throw new CommandRefused(
        `${options.user} could not grant the request: ${result.outcome === 'prevented' ? result.by : result.outcome}.`,
      )
    words = `\n    ${options.user} enters the code on the account's page and grants ${formatScope(result.consent.granted)}.\n`
  })
  return words
}
