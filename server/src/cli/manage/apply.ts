/** `latchkey apply`: makes the service as a file says, by the management API. docs/guides/configuration-as-code.md. */
import { closeSync, openSync, writeSync } from 'node:fs'
import type { Command } from 'commander'
import { checkConfiguration } from '../../core/manage/check.ts'
import type { Problem } from '../../core/manage/configuration.ts'
import { type Change, explainChange, type Plan, planChanges } from '../../core/manage/plan.ts'
import { ConfigurationError } from '../../setting-texts.ts'
import { CommandRefused, print } from '../client/output.ts'
import { DIFFERENT } from '../output.ts'
import type { Wiring } from '../wiring.ts'
import { addConnectionOptions, type ConnectionOptions, withManagement } from './connection.ts'
import { type ConfigurationFile, readConfigurationFile } from './document.ts'
import { type ManagementClient, ManagementRefusal, type Method, type Resource } from './management-client.ts'
import { readFor } from './read-service.ts'

type ApplyOptions = ConnectionOptions & {
  readonly plan?: boolean
  readonly prune?: boolean
  readonly secretsFile?: string
}

export function defineApply(command: Command, wiring: Wiring): void {
  addConnectionOptions(
    command
      .argument('<file>', 'YAML, as "latchkey export" writes it')
      .option('--plan', 'print the differences and change nothing; exit status 2 if there are any')
      .option('--prune', 'also delete roles and applications that are missing from a section of the file')
      .option('--secrets-file <file>', 'write the secrets of new applications to this new file, readable by you only'),
  ).action((file: string, options: ApplyOptions) => {
    const read = readConfigurationFile(file)
    return withManagement(wiring, options, (client) => apply(client, read, options)).catch((error: unknown) => {
      // Its status would say that there are differences.
      throw error instanceof ConfigurationError ? new CommandRefused(error.message) : error
    })
  })
}

async function apply(client: ManagementClient, read: ConfigurationFile, options: ApplyOptions): Promise<void> {
  const plan = await makePlan(client, read)
  const changes = [...plan.changes, ...(options.prune ? plan.surplus : [])]
  await rehearse(client, read, changes)
  const made = options.plan ? [] : await makeChanges(client, changes, options)
  const words = [...changes.map(explainChange), ...notes(plan, options), summary(changes, options), ...made]
  print(options, asJson(plan, changes, options), words.join('\n'))
  if (options.plan && changes.length > 0) process.exitCode = DIFFERENT
}

async function makePlan(client: ManagementClient, { configuration, refuse }: ConfigurationFile): Promise<Plan> {
  const live = await readFor(client, configuration)
  const plan = planChanges(configuration, live)
  const problems = [...checkConfiguration(configuration, live.scopes), ...plan.problems]
  if (problems.length > 0) throw refuse(problems)
  return plan
}

/** Asks the service about every change that does not depend on another one, so that a refused file changes nothing. */
async function rehearse(client: ManagementClient, { refuse }: ConfigurationFile, changes: readonly Change[]) {
  const added = new Set(changes.filter(({ action }) => action === 'add').map(({ name }) => name))
  const isKnown = ({ account, members }: Change) =>
    (account === null || !added.has(account)) &&
    !Object.values(members)
      .flat()
      .some((name) => added.has(String(name)))
  const problems: Problem[] = []
  for (const change of changes.filter(isKnown)) {
    const problem = await send(client, change, '?dry_run=true').then(() => null, refusalOf(change))
    if (problem) problems.push(problem)
  }
  if (problems.length > 0) throw refuse(problems)
}

/** A missing scope of the key, for example, is no problem of the file. */
function refusalOf({ path, action, name }: Change): (error: unknown) => Problem {
  return (error) => {
    if (!(error instanceof ManagementRefusal) || !['invalid_request', 'conflict'].includes(error.code)) throw error
    return { path, message: action === 'delete' ? `${name} cannot be deleted: ${error.message}` : error.message }
  }
}

/** Returns a sentence per new application. If a change fails, those before it remain, and the error counts them. */
async function makeChanges(
  client: ManagementClient,
  changes: readonly Change[],
  { secretsFile }: ApplyOptions,
): Promise<readonly string[]> {
  const secrets = secretsFile === undefined || changes.length === 0 ? null : openSecretsFile(secretsFile)
  const said: string[] = []
  try {
    for (const [done, change] of changes.entries()) {
      const { id, secret } = await send(client, change).catch((error: unknown) => {
        throw new CommandRefused(
          `${explainChange(change)}: ${error instanceof Error ? error.message : error}\n${done} of ${changes.length} changes were made. Apply the file again to make the rest.`,
        )
      })
      if (change.kind !== 'application' || change.action !== 'add') continue
      const name = `application ${change.name} of ${change.account}`
      const written = typeof secret === 'string' && secrets !== null
      if (written) writeSync(secrets, `${JSON.stringify({ account: change.account, name: change.name, id, secret })}\n`)
      said.push(`${name} has the id ${id}${secretInWords(secret, written ? secretsFile : undefined, String(id))}.`)
    }
  } finally {
    if (secrets !== null) closeSync(secrets)
  }
  return said
}

function secretInWords(secret: unknown, file: string | undefined, id: string): string {
  if (typeof secret !== 'string') return ' and, being public, no secret'
  return file ? `; its secret is in ${file}` : `. Its secret is not shown; "latchkey app rotate-secret ${id}" makes one`
}

/** Called before any change: a secret that the service has issued and that cannot be written would be lost. */
function openSecretsFile(file: string): number {
  try {
    return openSync(file, 'wx', 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'EEXIST' ? 'it exists already; choose another name' : code
    throw new CommandRefused(`${file} cannot be created: ${reason}. Nothing was changed.`)
  }
}

const METHODS: Readonly<Record<Change['action'], Method>> = { add: 'POST', change: 'PATCH', delete: 'DELETE' }

function send(client: ManagementClient, change: Change, query = ''): Promise<Resource> {
  const { action, kind, account, id, name, members } = change
  const within = account === null ? '' : `/accounts/${account}`
  const path = `${within}/${kind}s${id === null ? '' : `/${encodeURIComponent(id)}`}${query}`
  const naming = action === 'add' ? { [kind === 'account' ? 'slug' : 'name']: name } : {}
  return client.send(METHODS[action], path, action === 'delete' ? undefined : { ...naming, ...members })
}

function notes({ surplus }: Plan, { prune }: ApplyOptions): readonly string[] {
  if (prune) return []
  return surplus.map(({ kind, name, account }) => `(not in the file, left alone: ${kind} ${name} of ${account})`)
}

function summary(changes: readonly Change[], { plan }: ApplyOptions): string {
  if (changes.length === 0) return 'No differences.'
  const counted = `${changes.length} ${changes.length === 1 ? 'change' : 'changes'}`
  return plan ? `${counted}; nothing was changed.` : `${counted} made.`
}

function asJson(
  { surplus }: Plan,
  changes: readonly Change[],
  { plan = false, prune = false }: ApplyOptions,
): Resource {
  const shown = ({ action, kind, account, name, before, members }: Change) => ({
    ...{ action, kind, account, name, before, after: members },
  })
  return {
    changes: changes.map((change) => ({ ...shown(change), words: explainChange(change) })),
    not_in_file: prune ? [] : surplus.map(({ kind, account, name }) => ({ kind, account, name })),
    applied: !plan,
  }
}
