/** `latchkey export`: writes the configuration of a service as the file that `latchkey apply` reads. */
import type { Command } from 'commander'
import { stringify } from 'yaml'
import type { Configuration, Live, LiveAccount, LiveConfiguration, Named } from '../../core/manage/configuration.ts'
import { CommandRefused } from '../client/output.ts'
import type { Wiring } from '../wiring.ts'
import { addConnectionOptions, type ConnectionOptions, withManagement } from './connection.ts'
import { readWhole } from './read-service.ts'

export function defineExport(command: Command, wiring: Wiring): void {
  addConnectionOptions(command).action((options: ConnectionOptions) =>
    withManagement(wiring, options, async (client) => {
      const configuration = describe(await readWhole(client))
      const text = options.json ? JSON.stringify(configuration) : stringify(configuration, { lineWidth: 0 }).trimEnd()
      console.log(text)
    }),
  )
}

function describe({ scopes, accounts }: LiveConfiguration): Configuration {
  const slugs = [...accounts].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return {
    scopes: named('the catalogue', scopes),
    accounts: Object.fromEntries(slugs.map(([slug, account]) => [slug, describeAccount(slug, account)])),
  }
}

function describeAccount(slug: string, { name, external_id, roles, applications }: LiveAccount) {
  return {
    ...{ name, external_id },
    roles: named(
      slug,
      roles.filter(({ holdsEveryScope }) => !holdsEveryScope),
    ),
    applications: named(slug, applications),
  }
}

/** In the order of the alphabet, also within lists: two exports of one service are the same text. */
function named<Entry extends object>(where: string, live: readonly Live<Entry>[]): Named<Required<Entry>> {
  const sorted = live.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  const twice = sorted.find(({ name }, index) => name === sorted[index + 1]?.name)
  if (twice) throw new CommandRefused(`${where} has several applications named "${twice.name}". Rename one first.`)
  return Object.fromEntries(sorted.map(({ name, entry }) => [name, sortLists(entry)]))
}

function sortLists<Entry extends object>(entry: Entry): Entry {
  const sorted = Object.entries(entry).map(([name, value]) => [name, Array.isArray(value) ? value.toSorted() : value])
  return Object.fromEntries(sorted)
}
