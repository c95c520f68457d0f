/** Which service a command manages, and with which key: from options, the environment, a file or standard input. */
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { option } from '../../setting-texts.ts'
import { addServerOption, chooseServer, readVariable } from '../client/client-settings.ts'
import { CommandRefused, type OutputOptions } from '../client/output.ts'
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

export async function connect(options: ConnectionOptions): Promise<ManagementClient> {
  const server = chooseServer(options.server)
  const key = options.keyStdin ? (await text(process.stdin)).trim() : readKey()
  if (key) return createManagementClient(server, key)
  throw new CommandRefused(
    `${options.keyStdin ? 'There is no management key on standard input' : 'The management key is missing'}. Set it in ${KEY.env}, in the file named by ${KEY.env}_FILE, or with --key-stdin. "latchkey manage-key create" makes one, on the server.`,
  )
}

/** An unreadable file is an error like any other: status 2 would say that there are differences. */
function readKey(): string {
  try {
    return readVariable(KEY)
  } catch (error) {
    throw new CommandRefused((error as Error).message)
  }
}
