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

export function addStatusCommands(program: Command): void {
  addSecretOption(
    program.command('status').description('Say where you are logged in, as whom, for what and until when.'),
  )
    .option('--json', 'print one JSON object')
    .action(status)

  addSecretOption(
    program
      .command('token')
      .description('Print the credential of your login, good to be sent now, for other programs. It is a secret.'),
  )
    .option('--json', 'print one JSON object')
    .action(token)

  addSecretOption(program.command('logout').description('End your access at the service, then forget it here.'))
    .option('--forget', 'forget it here even if the service cannot be asked to end it')
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
    process.stderr.write(`Asking ${server} to end the access …\n`)
    await createClientFor(chosen, kept.store).revoke()
  } catch (error) {
    const reason = explainRefusal(error, chosen)
    if (!(reason instanceof CommandRefused)) throw reason
    if (!options.forget) throw new CommandRefused(`${reason.message}\n${whatIsLeft(kept.path)}`, reason.status)
    await kept.forget()
    throw new CommandRefused(
      `${reason.message}\nIt was forgotten here, but the access still exists at the service: remove it on your account’s page.`,
      UNREACHABLE,
    )
  }
  await kept.forget()
  print(
    options,
    { logged_out: true, server },
    `Logged out: the access at ${server} has ended, and nothing is kept here.`,
  )
}

function whatIsLeft(path: string): string {
  return `You are still logged in: the access exists, and its credentials are in ${path}. Run "latchkey logout" again later; with --forget they are deleted here at once, and you remove the access on your account’s page.`
}
