/**
 * `latchkey status|token|logout`: shows the login of this machine, prints its credential for other programs, and ends
 * it.
 */
import type { Command } from 'commander'
import { addSecretOption, type ClientOptions, readSecret } from './client-settings.ts'
import { describeAccess, describedInWords } from './describe-access.ts'
import { explainRefusal } from './explain-refusal.ts'
import { createClientFor, openKeptLogin, requireLogin } from './kept-login.ts'
import { CommandRefused, print, UNREACHABLE } from './output.ts'

export function defineStatus(command: Command): void {
  addSecretOption(command).option('--json', 'print one JSON object').action(status)
}

export function defineToken(command: Command): void {
  addSecretOption(command).option('--json', 'print one JSON object').action(token)
}

export function defineLogout(command: Command): void {
  addSecretOption(command)
    .option('--forget', 'delete the stored login even if the service is unreachable')
    .option('--json', 'print one JSON object')
    .action(logout)
}

async function status(options: ClientOptions): Promise<void> {
  const kept = openKeptLogin()
  const chosen = { ...(await requireLogin(kept)), secret: await readSecret(options) }
  const { server } = chosen
  try {
    const access = await describeAccess(createClientFor(chosen, kept.store), chosen)
    const value = { server, ...access, kept_in: kept.path }
    print(options, value, `Logged in at ${server}.\n\n${describedInWords(access, kept.path)}`)
  } catch (error) {
    throw explainRefusal(error, chosen)
  }
}

async function token(options: ClientOptions): Promise<void> {
  const kept = openKeptLogin()
  const chosen = { ...(await requireLogin(kept)), secret: await readSecret(options) }
  try {
    const credential = await createClientFor(chosen, kept.store).bearer()
    print(options, { token: credential }, credential)
  } catch (error) {
    throw explainRefusal(error, chosen)
  }
}

async function logout(options: ClientOptions & { forget?: boolean }): Promise<void> {
  const kept = openKeptLogin()
  const login = await kept.read()
  if (!login) return print(options, { logged_out: false }, 'Nothing to do: you are not logged in.')
  const chosen = { ...login, secret: await readSecret(options) }
  const { server } = chosen
  try {
    process.stderr.write(`Revoking the access at ${server} …\n`)
    await createClientFor(chosen, kept.store).revoke()
  } catch (error) {
    const reason = explainRefusal(error, chosen)
    if (!(reason instanceof CommandRefused)) throw reason
    if (!options.forget) throw new CommandRefused(`${reason.message}\n${whatIsLeft(kept.path)}`, reason.status)
    await kept.forget()
    throw new CommandRefused(
      `${reason.message}\nThe stored login was deleted, but the access still exists at the service: remove it on your account’s page.`,
      UNREACHABLE,
    )
  }
  await kept.forget()
  print(
    options,
    { logged_out: true, server },
    `Logged out: the access at ${server} was revoked and the stored login was deleted.`,
  )
}

function whatIsLeft(path: string): string {
  return `You are still logged in; the credentials are in ${path}. Run "latchkey logout" again later, or run it with --forget to delete them now and remove the access on your account’s page.`
}
