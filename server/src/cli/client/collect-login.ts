/** Second half of `latchkey login`: waits for the decision and stores the credentials, or prints a resume token. */
import type { Client, Credentials, DeviceSession } from '@latchkey/sdk'
import type { ChosenApplication, Place } from './client-settings.ts'
import { type Described, describeAccess, describedInWords } from './describe-access.ts'
import { explainRefusal } from './explain-refusal.ts'
import { createClientFor, type KeptLogin } from './kept-login.ts'
import { openLoginScreen } from './login-screen.ts'
import { CommandRefused, INTERRUPTED, type OutputOptions, PENDING, print, UNREACHABLE } from './output.ts'
import { makeCurrent } from './profiles.ts'
import { makeResumeToken } from './resume-token.ts'

export type CollectOptions = OutputOptions & { qr?: boolean; wait: boolean; resume?: boolean }

export type Attempt = {
  readonly options: CollectOptions
  readonly chosen: ChosenApplication
  readonly kept: KeptLogin
  /** Undefined: the keyring if there is one. */
  readonly wanted: Place | undefined
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** `open` requests a code or resumes a session. Unless the user grants the request, nothing remains stored. */
export async function collectLogin(
  attempt: Attempt,
  open: (client: Client, signal: AbortSignal) => Promise<DeviceSession>,
): Promise<void> {
  const { chosen, kept } = attempt
  const client = createClientFor(chosen, kept.store, { holdPolls: attempt.options.wait })
  await kept.prepare()
  const end = listenForEnd()
  try {
    const session = await open(client, end.signal)
    await kept.write(chosen)
    const credentials = await decisionOn(session, attempt, end)
    if (!credentials) {
      await kept.forget()
      return printPending(attempt, session)
    }
    await makeCurrent(kept.profile)
    const access = await describeAccess(client, chosen).catch(() => ({ scope: credentials.scope.join(',') }))
    printLoggedIn(attempt, access)
  } catch (error) {
    await kept.forget()
    throw explainRefusal(error, chosen)
  } finally {
    end.ignore()
  }
}

type End = { readonly signal: AbortSignal; now(): void; ignore(): void }

/** Aborts the login on a signal or on Ctrl-C; `collectLogin` then deletes what it stored. */
function listenForEnd(): End {
  const controller = new AbortController()
  const now = () => controller.abort()
  for (const signal of SIGNALS) process.once(signal, now)
  const ignore = () => {
    for (const signal of SIGNALS) process.off(signal, now)
  }
  return { signal: controller.signal, now, ignore }
}

/** Null: the user has not decided, and this command does not wait. */
function decisionOn(session: DeviceSession, attempt: Attempt, end: End): Promise<Credentials | null> {
  const { options, chosen } = attempt
  if (options.wait) return waitForDecision(session, options, end)
  return options.resume ? pollOnce(session, chosen, end) : Promise.resolve(null)
}

async function waitForDecision(session: DeviceSession, options: CollectOptions, end: End): Promise<Credentials> {
  if (options.json) console.log(JSON.stringify({ event: 'code', ...codeAsJson(session) }))
  const screen = openLoginScreen(session, options, end.now)
  try {
    return await session.wait({ signal: end.signal })
  } catch (error) {
    if (!end.signal.aborted) throw error
    const next = options.resume
      ? 'The resume token is valid until the code expires.'
      : `Do not enter ${session.displayCode} any more; it expires by itself.`
    throw new CommandRefused(`Interrupted; nothing was stored on this machine. ${next}`, INTERRUPTED)
  } finally {
    screen.close()
  }
}

/** In addition to the interval before the poll. */
const ANSWER_WITHIN_MS = 15_000

/**
 * Polls once. The client library waits for the poll interval first, so that a script that runs this in a loop keeps
 * the pace.
 */
async function pollOnce(session: DeviceSession, { server }: ChosenApplication, end: End): Promise<Credentials | null> {
  const timeout = AbortSignal.timeout(session.toJSON().interval * 1000 + ANSWER_WITHIN_MS)
  try {
    for await (const event of session.events({ signal: AbortSignal.any([end.signal, timeout]) })) {
      if (event.type === 'pending' || event.type === 'slow_down') return null
      break
    }
    return await session.wait()
  } catch (error) {
    if (!timeout.aborted) throw error
    throw new CommandRefused(`${server} did not answer. Try again with the same resume token.`, UNREACHABLE)
  }
}

function codeAsJson(session: DeviceSession) {
  const { userCode, verificationUrl } = session
  return { user_code: userCode, verification_url: verificationUrl, expires_in: session.remaining() }
}

function printPending({ options, chosen, kept, wanted }: Attempt, session: DeviceSession): void {
  const { server, application } = chosen
  const { profile } = kept
  const token = makeResumeToken({ profile, server, application, wanted, session: session.toJSON() })
  const value = { event: options.resume ? 'pending' : 'code', ...codeAsJson(session), resume_token: token }
  const until = new Date(session.expiresAt).toTimeString().slice(0, 5)
  const words = `Your code is ${session.displayCode}, valid until ${until}. Open ${session.verificationUrl}, sign in, enter the code and decide.
Then collect the login. The token is a secret until the code expires:

  echo ${token} | latchkey login --resume`
  print(options, value, words)
  process.exitCode = PENDING
}

function printLoggedIn(
  { options, chosen, kept, wanted }: Attempt,
  access: Partial<Described> & Pick<Described, 'scope'>,
): void {
  const { server, application } = chosen
  const { profile, keptIn } = kept
  const value = { event: 'logged_in', profile, server, application, ...access, kept_in: keptIn }
  const words = describedInWords({ application, ...access }, profile, keptIn)
  print(options, value, `Logged in at ${server}.\n\n${words}`)
  if (wanted === undefined && keptIn !== 'keyring') {
    process.stderr.write('\nThere is no system keyring here: the credentials are in a file that only you can read.\n')
  }
}
