/** Time of a revocation with the journal and without, in turn, so that both meet the same machine. */
import { closeContext, createContext } from '../../../src/app.ts'
import type { Context } from '../../../src/flows/context.ts'
import { revokeCredential } from '../../../src/flows/grants/revoke-credential.ts'
import { makeAccessKey } from '../../../src/secrets/credentials.ts'
import { placeIssuedGrant } from '../../races/issued-grants.ts'
import { makeAccount, makeApplication, makeConfig, makeUser } from '../../rig/make.ts'

export type JournalCost = { readonly withMs: number; readonly withoutMs: number; readonly ratio: number }

export async function journalCost(databaseUrl: string, journal: string, rounds: number): Promise<JournalCost> {
  const plain = await createContext(makeConfig({ DATABASE_URL: databaseUrl }))
  const journalled = await createContext(makeConfig({ DATABASE_URL: databaseUrl, REVOCATION_JOURNAL: journal }))
  try {
    const account = await makeAccount(plain.db)
    const { id: userId } = await makeUser(plain.db, account.slug)
    const { id: applicationId, secret } = await makeApplication(plain.db, plain.config, account.slug)
    for (const context of [plain, journalled]) await context.applications.refresh()
    const revoke = async (context: Context): Promise<number> => {
      const about = { accountId: account.id, userId, applicationId, variant: 'access_key' } as const
      const credential = makeAccessKey(context.config.keys, await placeIssuedGrant(plain, about))
      const begun = performance.now()
      await revokeCredential(context, { applicationId, secret, credential, variant: null })
      return performance.now() - begun
    }
    const [withJournal, without]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      without.push(await revoke(plain))
      withJournal.push(await revoke(journalled))
    }
    const [withMs, withoutMs] = [median(withJournal), median(without)]
    return { withMs: rounded(withMs), withoutMs: rounded(withoutMs), ratio: rounded(withMs / withoutMs) }
  } finally {
    await closeContext(plain)
    await closeContext(journalled)
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
const rounded = (value: number): number => Math.round(value * 100) / 100
