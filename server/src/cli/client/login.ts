/**
 * `latchkey login`: authorizes an application for the user of this machine by the device flow. With `--no-wait` it
 * prints the code and ends; `--resume` collects the outcome. So scripts and agents never have to block.
 */
import { text } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import {
  addClientOptions,
  addProfileOption,
  addStoreOption,
  type ClientOptions,
  type Place,
  readChosen,
  readSecret,
  readStoreSetting,
} from './client-settings.ts'
import { type CollectOptions, collectLogin } from './collect-login.ts'
import { describeAccess } from './describe-access.ts'
import { explainRefusal } from './explain-refusal.ts'
import { choosePlace, createClientFor, type KeptLogin, openKeptLogin } from './kept-login.ts'
import { CommandRefused } from './output.ts'
import { chooseProfile } from './profiles.ts'
import { readResumeToken } from './resume-token.ts'

type LoginOptions = ClientOptions & CollectOptions & { profile?: string; store?: Place; scope?: string; key?: boolean }

export function defineLogin(command: Command): void {
  addStoreOption(addProfileOption(addClientOptions(command)))
    .option('--scope <list>', 'scopes to request, comma-separated (default: the default scopes of the application)')
    .option('--key', 'request an access key, which does not expire, instead of a token set')
    .option('--qr', 'show a QR code of the page immediately')
    .option('--no-wait', 'print the code and a resume token, and exit with status 8 while the user has not decided')
    .addOption(
      new Option(
        '--resume',
        'collect the outcome of a code from --no-wait; reads the resume token from standard input',
      ).conflicts(['server', 'app', 'secretStdin', 'profile', 'store', 'scope', 'key']),
    )
    .option('--json', 'print JSON, one object per line: first the code, then the outcome')
    .action((options: LoginOptions) => (options.resume ? resume(options) : login(options)))
}

async function login(options: LoginOptions): Promise<void> {
  const profile = await chooseProfile(options)
  const before = await openKeptLogin(profile)
  const chosen = await readChosen(options, await before.read())
  await refuseIfStillIn(before, chosen.secret)
  const wanted = options.store ?? readStoreSetting()
  // A locked keyring asks the user for its password. Without waiting nothing is stored yet, so it can wait for --resume.
  const place = options.wait || wanted ? await choosePlace(wanted, profile) : 'file'
  const kept = await openKeptLogin(profile, place)
  await collectLogin({ options, chosen, kept, wanted }, (client, signal) =>
    client.device.start({ variant: options.key ? 'access_key' : 'token_set', scope: options.scope, signal }),
  )
}

async function resume(options: LoginOptions): Promise<void> {
  const { profile, server, application, wanted, session } = readResumeToken((await text(process.stdin)).trim())
  const chosen = { server, application, secret: await readSecret(options) }
  await refuseIfStillIn(await openKeptLogin(profile), chosen.secret)
  const kept = await openKeptLogin(profile, await choosePlace(wanted, profile))
  await collectLogin({ options, chosen, kept, wanted }, async (client) => client.device.resume(session))
}

/**
 * Refuses while the previous login is still valid: overwriting it would leave a grant that cannot be revoked from here.
 */
async function refuseIfStillIn(kept: KeptLogin, secret: string | undefined): Promise<void> {
  const login = await kept.read()
  if (!login) return
  const before = { ...login, secret }
  try {
    const { account } = await describeAccess(createClientFor(before, kept.store), before)
    throw new CommandRefused(
      `You are already logged in at ${before.server}, in the account ${account}. Run "latchkey logout" first, or choose another --profile.`,
    )
  } catch (error) {
    if (!hasEnded(error)) throw explainRefusal(error, before)
    await kept.forget()
  }
}

function hasEnded(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'reauthorize'
}
