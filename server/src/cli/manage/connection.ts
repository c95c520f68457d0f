/**
 * Where a command finds the management API: at a service, with a key from the environment, a file or standard input;
 * otherwise in its own process, on the machine itself.
 */
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { ConfigurationError, option } from '../../setting-texts.ts'
import { addServerOption, chooseServer, readVariable } from '../client/client-settings.ts'
import { CommandRefused, type OutputOptions } from '../client/output.ts'
import type { Wiring } from '../wiring.ts'
import { createManagementClient, type ManagementClient } from './management-client.ts'

const KEY = option({
  env: 'LATCHKEY_MANAGEMENT_KEY',
  secret: true,
  fallback: '',
  about: 'the management key',
  example: 'lkm_… (43 characters)',
  parse: (value) => value,
})

export type ConnectionOptions = OutputOptions & { readonly server?: string; readonly keyStdin?: boolean }

/** The key itself is not an option: arguments are visible in the process list of the machine. */
export function addConnectionOptions(command: Command): Command {
  return addServerOption(command)
    .option(
      '--key-stdin',
      `read ${KEY.about} from standard input; otherwise from ${KEY.env} or the file in ${KEY.env}_FILE`,
    )
    .option('--json', 'print one JSON object')
}

export async function withManagement(
  wiring: Wiring,
  options: ConnectionOptions,
  work: (client: ManagementClient) => Promise<void>,
): Promise<void> {
  const key = options.keyStdin ? (await text(process.stdin)).trim() : readKey()
  if (key) return work(createManagementClient(chooseServer(options.server), key))
  if (options.keyStdin) throw new CommandRefused(`There is no management key on standard input. ${REMEDY}`)
  if (options.server !== undefined) throw new CommandRefused(`The management key is missing. ${REMEDY}`)
  // Imported on demand: it loads the PostgreSQL client.
  const { withLocalManagement } = await import('./local-client.ts')
  return withLocalManagement(wiring, work).catch((error: unknown) => {
    if (!(error instanceof ConfigurationError)) throw error
    const local = 'Without one, the command runs on the machine of the service, with its settings:'
    throw new ConfigurationError(`The management key is missing. ${REMEDY}\n${local}\n${error.message}`)
  })
}

const REMEDY = `Set it in ${KEY.env}, in the file named by ${KEY.env}_FILE, or with --key-stdin. "latchkey manage-key create" makes one, on the server.`

/** An unreadable file is an error like any other: status 2 would say that there are differences. */
function readKey(): string {
  try {
    return readVariable(KEY)
  } catch (error) {
    throw new CommandRefused((error as Error).message)
  }
}
