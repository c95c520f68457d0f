/** `latchkey login`: authorizes an application for the user of this machine by the device flow. */
import type { Credentials, DeviceSession } from '@latchkey/sdk'
import type { Command } from 'commander'
import { addClientOptions, type ChosenApplication, type ClientOptions, readChosen } from './client-settings.ts'
import { type Described, describeAccess, describedInWords } from './describe-access.ts'
import { explainRefusal } from './explain-refusal.ts'
import { createClientFor, type KeptLogin, openKeptLogin } from './kept-login.ts'
import { openLoginScreen } from './login-screen.ts'
import { CommandRefused, INTERRUPTED, print } from './output.ts'

type LoginOptions = ClientOptions & { scope?: string; key?: boolean; qr?: boolean }

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export function defineLogin(command: Command): void {
  addClientOptions(command)
    .option('--scope <list>', 'scopes to request, comma-separated (default: the default scopes of the application)')
    .option('--key', 'request an access key, which does not expire, instead of a token set')
    .option('--qr', 'show a QR code of the page immediately')
    .option('--json', 'print JSON, one object per line: first the code, then the outcome')
    .action(login)
}

async function login(options: LoginOptions): Promise<void> {
  const kept = openKeptLogin()
  const before = await kept.read()
  const chosen = await readChosen(options, before)
  if (before) await refuseIfStillIn(kept, { ...before, secret: chosen.secret })
  const client = createClientFor(chosen, kept.store)
  await kept.prepare()
  const end = listenForEnd()
  try {
    const variant = options.key ? 'access_key' : 'token_set'
    const session = await client.device.start({ variant, scope: options.scope, signal: end.signal })
    await kept.write(chosen)
    const { scope } = await waitForDecision(session, options, end)
    const access = await describeAccess(client, chosen).catch(() => ({ scope: scope.join(',') }))
    tell(options, chosen, kept, access)
  } catch (error) {
    await kept.forget()
    throw explainRefusal(error, chosen)
  } finally {
    end.ignore()
  }
}

type End = { readonly signal: AbortSignal; now(): void; ignore(): void }

/** Aborts the login on a signal or on Ctrl-C; `login` then deletes what it stored. */
function listenForEnd(): End {
  const controller = new AbortController()
  const now = () => controller.abort()
  for (const signal of SIGNALS) process.once(signal, now)
  const ignore = () => {
    for (const signal of SIGNALS) process.off(signal, now)
  }
  return { signal: controller.signal, now, ignore }
}

/**
 * Refuses while the previous login is still valid: overwriting it would leave a grant that cannot be revoked from here.
 */
async function refuseIfStillIn(kept: KeptLogin, before: ChosenApplication): Promise<void> {
  try {
    const { account } = await describeAccess(createClientFor(before, kept.store), before)
    throw new CommandRefused(
      `You are already logged in at ${before.server}, in the account ${account}. Run "latchkey logout" first.`,
    )
  } catch (error) {
    if (!hasEnded(error)) throw explainRefusal(error, before)
    await kept.forget()
  }
}

function hasEnded(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'reauthorize'
}

async function waitForDecision(session: DeviceSession, options: LoginOptions, end: End): Promise<Credentials> {
  if (options.json) console.log(JSON.stringify(codeAsJson(session)))
  const screen = openLoginScreen(session, options, end.now)
  try {
    return await session.wait({ signal: end.signal })
  } catch (error) {
    if (!end.signal.aborted) throw error
    const words = `Interrupted; nothing was stored on this machine. Do not enter ${session.displayCode} any more; it expires by itself.`
    throw new CommandRefused(words, INTERRUPTED)
  } finally {
    screen.close()
  }
}

function codeAsJson(session: DeviceSession) {
  const { userCode, verificationUrl } = session
  return { event: 'code', user_code: userCode, verification_url: verificationUrl, expires_in: session.remaining() }
}

function tell(
  options: LoginOptions,
  { server, application }: ChosenApplication,
  { path }: KeptLogin,
  access: Partial<Described> & Pick<Described, 'scope'>,
): void {
  const value = { event: 'logged_in', server, application, ...access, kept_in: path }
  print(options, value, `Logged in at ${server}.\n\n${describedInWords({ application, ...access }, path)}`)
}
