/** `latchkey app proposals|accept-proposal|decline-proposal`: new names and logos that wait for an operator. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { BY_COMMAND_LINE } from '../core/audit/actor.ts'
import { acceptProposal, declineProposal } from '../flows/applications/proposals.ts'
import type { ListedProposal } from '../store/applications/proposals.ts'
import { listEveryProposal, readProposedLogo } from '../store/applications/proposals.ts'
import type { Postgres } from '../store/postgres/postgres.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { withDatabase } from './wiring.ts'

export function addProposalCommands(app: Command): void {
  app
    .command('proposals')
    .description('List new names and logos of verified applications that wait for your review.')
    .option('--logos <folder>', 'write the new logos to this folder')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { logos?: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const proposals = await listEveryProposal(db)
        if (options.logos !== undefined) await saveLogos(db, proposals, options.logos)
        const words = proposals.length === 0 ? 'No pending changes.' : proposals.map(inWords).join('\n\n')
        print(options, { proposals: proposals.map(asJson) }, words)
      }),
    )

  app
    .command('accept-proposal')
    .description('Accept the new name and logo of an application.')
    .argument('<id>', 'the application, app_…')
    .requiredOption('--version <number>', 'the version that you reviewed')
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { version: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const version = Number(options.version)
        const { outcome } = await acceptProposal({ db }, BY_COMMAND_LINE, id, version)
        if (outcome !== 'accepted') throw new CommandRefused(REFUSED_REASON[outcome](id))
        print(options, { id, version, outcome }, `Accepted. Users now see the new name and logo of ${id}.`)
      }),
    )

  app
    .command('decline-proposal')
    .description('Decline the new name and logo of an application.')
    .argument('<id>', 'the application, app_…')
    .requiredOption('--version <number>', 'the version that you reviewed')
    .requiredOption('--reason <words>', 'reason, shown to the owner of the application')
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { version: string; reason: string }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const version = Number(options.version)
        const { outcome } = await declineProposal({ db }, BY_COMMAND_LINE, id, version, options.reason)
        if (outcome !== 'declined') throw new CommandRefused(REFUSED_REASON[outcome](id))
        print(
          options,
          { id, version, outcome },
          `Declined. ${id} keeps its name and logo; its owner is notified of the reason.`,
        )
      }),
    )
}

const REFUSED_REASON = {
  not_found: (id: string) => `"${id}" has no pending changes.`,
  stale: (id: string) =>
    `The pending changes of "${id}" have been edited since this version. Review them again with "latchkey app proposals".`,
  taken: (id: string) => `The new name of "${id}" is too similar to the name of an application of another account.`,
  no_words: () => 'Give a reason with --reason.',
} as const

async function saveLogos(db: Postgres, proposals: readonly ListedProposal[], folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const { applicationId, version } of proposals) {
    const logo = await readProposedLogo(db, applicationId, version)
    if (!logo) continue
    writeFileSync(join(folder, `${applicationId}-${version}.png`), logo)
  }
}

function asJson(proposal: ListedProposal) {
  return {
    id: proposal.applicationId,
    version: proposal.version,
    account: proposal.accountSlug,
    publisher: proposal.publisher.name,
    status: proposal.publisher.status,
    name_now: proposal.nameNow,
    name: proposal.name,
    logo: logoChange(proposal),
    proposed_by: proposal.proposedBy,
    proposed_at: new Date(proposal.proposedAt).toISOString(),
  }
}

function inWords(proposal: ListedProposal): string {
  const { name: domain, status } = proposal.publisher
  const publisher = domain === null ? status : `${domain}, ${status}`
  return [
    `${proposal.applicationId}, version ${proposal.version}`,
    `  account    ${proposal.accountName} (${proposal.accountSlug})`,
    `  publisher  ${publisher}`,
    `  name       ${proposal.nameNow}${proposal.name === proposal.nameNow ? ' (unchanged)' : `  ->  ${proposal.name}`}`,
    `  logo       ${logoChange(proposal)}`,
    `  proposed   ${new Date(proposal.proposedAt).toISOString()}, by ${proposal.proposedBy ?? 'a deleted user'}`,
  ].join('\n')
}

function logoChange({ logoVersion, logoVersionNow }: ListedProposal): 'stays' | 'none' | 'new' {
  if (logoVersion === logoVersionNow) return 'stays'
  return logoVersion === null ? 'none' : 'new'
}
