/** Client settings of the commands for users (service, application, secret), from options or from the environment. */
import { homedir } from 'node:os'
import { text } from 'node:stream/consumers'
import { type Command, Option as CommandOption } from 'commander'
import { ConfigurationError, type Option, oneOf, option, readSetting } from '../../setting-texts.ts'
import { loginFolderOf } from './login-folder.ts'
import { CommandRefused, type OutputOptions } from './output.ts'

export type ClientOptions = OutputOptions & { server?: string; app?: string; secretStdin?: boolean }

/** Where the credentials of a login are stored. */
export type Place = 'keyring' | 'file'

/** The service and the application that a command uses. */
export type ChosenApplication = {
  /** The service's own address, its PUBLIC_URL. */
  readonly server: string
  readonly application: string
  /** Undefined for a public application. */
  readonly secret: string | undefined
}

const SERVER = option({
  env: 'LATCHKEY_SERVER',
  fallback: '',
  about: 'URL of the service',
  example: 'https://service.example',
  parse: (value) => value,
})

const APPLICATION = option({
  env: 'LATCHKEY_APP',
  fallback: '',
  about: 'id of the application',
  example: 'app_a5vweekf4kf3',
  parse: (value) => value,
})

const SECRET = option({
  env: 'LATCHKEY_SECRET',
  secret: true,
  fallback: '',
  about: 'the secret of the application, if it has one,',
  example: 'lks_… (43 characters)',
  parse: (value) => value,
})

const PROFILE = option({
  env: 'LATCHKEY_PROFILE',
  fallback: '',
  about: 'name of the login to use, of several on this machine',
  example: 'work',
  parse: (value) => value,
})

const STORE = option({
  env: 'LATCHKEY_STORE',
  fallback: '',
  about: 'where the credentials are stored',
  example: 'file',
  parse: (value) => (value === '' ? undefined : (oneOf('keyring', 'file')(value) as Place)),
})

const CONFIG_HOME = option({
  env: 'XDG_CONFIG_HOME',
  fallback: '',
  about: 'base directory of user-specific configuration files',
  example: '/home/ann/.config',
  parse: (value) => value,
})

const APP_DATA = option({
  env: 'APPDATA',
  fallback: '',
  about: 'base directory of user-specific configuration files on Windows',
  example: 'C:\\Users\\ann\\AppData\\Roaming',
  parse: (value) => value,
})

export function readLoginFolder(): string {
  const { platform } = process
  return loginFolderOf({
    platform,
    home: homedir(),
    configHome: readVariable(CONFIG_HOME),
    appData: readVariable(APP_DATA),
  })
}

export const readProfileSetting = () => readVariable(PROFILE)
export const readStoreSetting = () => readVariable(STORE)

export function addProfileOption(command: Command): Command {
  return command.option('--profile <name>', `${PROFILE.about} (or ${PROFILE.env})`)
}

export function addStoreOption(command: Command): Command {
  return command.addOption(
    new CommandOption(
      '--store <place>',
      `${STORE.about} (or ${STORE.env}); default: the system keyring if there is one, otherwise a file`,
    ).choices(['keyring', 'file']),
  )
}

export function addClientOptions(command: Command): Command {
  addServerOption(command).option('--app <id>', `${APPLICATION.about} (or ${APPLICATION.env})`)
  return addSecretOption(command)
}

export function addServerOption(command: Command): Command {
  return command.option('--server <address>', `${SERVER.about} (or ${SERVER.env}), for example ${SERVER.example}`)
}

/**
 * Adds --secret-stdin. The secret itself is not an option: arguments are visible in the process list of the machine.
 */
export function addSecretOption(command: Command): Command {
  return command.option(
    '--secret-stdin',
    `read ${SECRET.about} from standard input; otherwise from ${SECRET.env} or the file in ${SECRET.env}_FILE`,
  )
}

/** `known` holds the defaults for settings that neither options nor environment give. */
export async function readChosen(
  options: ClientOptions,
  known: Pick<ChosenApplication, 'server' | 'application'> | null,
): Promise<ChosenApplication> {
  const server = chooseServer(options.server, known?.server)
  const application = options.app ?? (readVariable(APPLICATION) || known?.application)
  if (!application)
    throw new CommandRefused(
      `The id of the application is missing. Set it with --app or ${APPLICATION.env}. The developer console or the operator of the service provides it.`,
    )
  return { server, application, secret: await readSecret(options) }
}

/** `known`: the default, if neither an option nor the environment says which service. */
export function chooseServer(given: string | undefined, known?: string): string {
  const server = given ?? (readVariable(SERVER) || known)
  if (server) return readServer(server)
  throw new CommandRefused(
    `The URL of the service is missing. Set it with --server or ${SERVER.env}, for example ${SERVER.example}.`,
  )
}

export async function readSecret({ secretStdin }: ClientOptions): Promise<string | undefined> {
  const secret = secretStdin ? (await text(process.stdin)).trim() : readVariable(SECRET)
  if (secretStdin && secret === '') throw new CommandRefused('There is no secret on standard input.')
  return secret || undefined
}

function readServer(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new CommandRefused(`The URL of the service is not valid. Example: ${SERVER.example}.`)
  }
  return url.href.endsWith('/') ? url.href.slice(0, -1) : url.href
}

/** Throws a ConfigurationError that names the variable. */
export function readVariable<T>(setting: Option<T>): T {
  try {
    return readSetting(setting, process.env)
  } catch (error) {
    throw new ConfigurationError(`${setting.env} ${(error as Error).message}.`)
  }
}
