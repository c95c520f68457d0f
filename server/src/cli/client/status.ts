/**
 * `latchkey status|switch|token|logout`: shows the logins of this machine, chooses one, prints its credential for other
 * programs, and ends it.
 */
import type { Command } from 'commander'
import { addProfileOption, addSecretOption, type ClientOptions, readSecret } from './client-settings.ts'
import { describeAccess, describedInWords } from './describe-access.ts'
import { explainRefusal } from './explain-refusal.ts'
import { createClientFor, type KeptLogin, openKeptLogin, requireLogin } from './kept-login.ts'
import { CommandRefused, type OutputOptions, print, UNREACHABLE } from './output.ts'
import { chooseProfile, listProfiles, makeCurrent } from './profiles.ts'

type ProfileOptions = ClientOptions & { profile?: string }

export function defineStatus(command: Command): void {
  addOptions(command).action(status)
}

export function defineToken(command: Command): void {
  addOptions(command).action(token)
}

export function defineLogout(command: Command): void {
  addOptions(command).option('--forget', 'delete the stored login even if the service is unreachable').action(logout)
}

export function defineSwitch(command: Command): void {
  command
    .argument('<profile>', 'name of the login to use from now on')
    .option('--json', 'print one JSON object')
    .action(switchTo)
}

function addOptions(command: Command): Command {
  return addSecretOption(addProfileOption(command)).option('--json', 'print one JSON object')
}

/** Describes the current login, then the others. The exit status is that of the current one. */
async function status(options: ProfileOptions): Promise<void> {
  const current = await chooseProfile(options)
  const others = options.profile ? [] : (await listProfiles()).filter((name) => name !== current)
  const secret = await readSecret(options)
  await requireLogin(await openKeptLogin(current))
  const found = await Promise.all([current, ...others].map((name) => look(name, name === current ? secret : undefined)))
  const logins = found.filter((each) => each !== null)
  if (options.json) console.log(JSON.stringify({ current, logins: logins.map(({ value }) => value) }))
  else console.log(logins.map(({ words }) => words).join('\n\n'))
  const [{ refused = null } = {}] = logins
  if (refused) throw refused
}

type Looked = {
  readonly value: Readonly<Record<string, unknown>>
  readonly words: string
  readonly refused?: CommandRefused
}

/** Asks the service about the login of a profile. Null if there is none. */
async function look(profile: string, secret: string | undefined): Promise<Looked | null> {
  const kept = await openKeptLogin(profile)
  const login = await kept.read()
  if (!login) return null
  const chosen = { ...login, secret }
  const { server, application } = login
  const found = { profile, server, application, kept_in: kept.keptIn }
  try {
    const access = await describeAccess(createClientFor(chosen, kept.store), chosen)
    const words = `Logged in at ${server}.\n\n${describedInWords(access, profile, kept.keptIn)}`
    return { value: { ...found, ...access }, words }
  } catch (error) {
    const refused = explainRefusal(error, chosen)
    if (!(refused instanceof CommandRefused)) throw refused
    const words = `Not usable at ${server}.\n\n${describedInWords({ application }, profile, kept.keptIn)}`
    return { value: { ...found, problem: refused.message, exit_status: refused.status }, words, refused }
  }
}

async function switchTo(profile: string, options: OutputOptions): Promise<void> {
  const known = await listProfiles()
  const login = known.includes(profile) ? await (await openKeptLogin(profile)).read() : null
  if (!login) {
    const names = known.length > 0 ? `Use one of: ${known.join(', ')}.` : 'Run "latchkey login".'
    throw new CommandRefused(`There is no login with the profile ${profile}. ${names}`)
  }
  await makeCurrent(profile)
  print(options, { current: profile, ...login }, `Commands now use the profile ${profile}, at ${login.server}.`)
}

async function token(options: ProfileOptions): Promise<void> {
  const kept = await openKeptLogin(await chooseProfile(options))
  const chosen = { ...(await requireLogin(kept)), secret: await readSecret(options) }
  try {
    const credential = await createClientFor(chosen, kept.store).bearer()
    print(options, { token: credential }, credential)
  } catch (error) {
    throw explainRefusal(error, chosen)
  }
}

async function logout(options: ProfileOptions & { forget?: boolean }): Promise<void> {
  const kept = await openKeptLogin(await chooseProfile(options))
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
    if (!options.forget) throw new CommandRefused(`${reason.message}\n${explainStillLoggedIn(kept)}`, reason.status)
    await kept.forget()
    throw new CommandRefused(
      `${reason.message}\nThe stored login was deleted, but the access still exists at the service: remove it on your account’s page.`,
      UNREACHABLE,
    )
  }
  await kept.forget()
  print(
    options,
    { logged_out: true, profile: kept.profile, server },
    `Logged out: the access at ${server} was revoked and the stored login was deleted.`,
  )
}

function explainStillLoggedIn({ keptIn }: KeptLogin): string {
  const where = keptIn === 'keyring' ? 'the system keyring' : keptIn
  return `You are still logged in; the credentials are in ${where}. Run "latchkey logout" again later, or run it with --forget to delete them now and remove the access on your account’s page.`
}
