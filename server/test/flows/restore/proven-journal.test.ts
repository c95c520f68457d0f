/** docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md: a journal that was changed, of which a part is missing, or of several processes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import { disablePerson } from '../../../src/flows/accounts/people.ts'
import type { Context } from '../../../src/flows/context.ts'
import { checkRestore } from '../../../src/flows/restore/operate.ts'
import { settleRestore } from '../../../src/flows/restore/settle.ts'
import { findAccount } from '../../../src/store/accounts/accounts.ts'
import { findMember } from '../../../src/store/accounts/users.ts'
import { hasUnfinishedRestore, readRestores } from '../../../src/store/restore/restores.ts'
import { type MadeUser, makeConfig, makeUser } from '../../rig/make.ts'
import { type JournalledService, startJournalledService } from './journalled-service.ts'

let journalled: JournalledService
let context: Context
let users: readonly MadeUser[]
beforeAll(async () => {
  journalled = await startJournalledService()
  context = journalled.service.context
})
afterAll(() => journalled.stop())

/** Five users, of whom nothing is lost yet. */
beforeEach(async () => {
  const made: MadeUser[] = []
  for (let at = 0; at < 5; at += 1)
    made.push(await makeUser(context.db, journalled.service.account.slug, { holds: ['orders:read'] }))
  users = made
  await journalled.dump()
})

const disable = async (by: Context, user: MadeUser | undefined) => {
  const { outcome } = await disablePerson(by, journalled.service.user.id, user?.id ?? '')
  if (outcome !== 'disabled') throw new Error(outcome)
}

/** Which of the five are disabled. */
async function disabledIn({ db }: Context): Promise<readonly number[]> {
  const members = await Promise.all(users.map(({ id }) => findMember(db, journalled.service.account.id, id)))
  return members.flatMap((member, at) => (member?.disabled ? [at] : []))
}

const change = (edit: (lines: string[]) => readonly string[]) => {
  const lines = journalled.lines()
  writeFileSync(journalled.journal, `${edit(lines).join('\n')}\n`)
}

const lineOf = (lines: readonly string[], at: number) => lines.findIndex((line) => line.includes(users[at]?.id ?? '-'))

const openOf = async ({ db }: Context) => (await readRestores(db, 1))[0]?.toAccept

describe('of the lines after the backup', () => {
  it('all are repeated, of a journal of two processes', async () => {
    const other = await createContext(
      makeConfig({
        ...(context.config.databaseUrl && { DATABASE_URL: context.config.databaseUrl }),
        REVOCATION_JOURNAL: journalled.journal,
      }),
    )
    try {
      for (const at of [0, 1, 2, 3, 4]) await disable(at % 2 === 0 ? context : other, users[at])
    } finally {
      await closeContext(other)
    }
    const restored = await journalled.restore()
    expect(await disabledIn(restored)).toEqual([0, 1, 2, 3, 4])
    expect(await openOf(restored)).toEqual([])
    expect(await journalled.finish(restored)).toMatchObject({ finished: 1 })
  })

  it('one is missing: the others are repeated, and the restore is unfinished until the gap was accepted by name', async () => {
    for (const at of [0, 1, 2]) await disable(context, users[at])
    change((lines) => lines.toSpliced(lineOf(lines, 1), 1))
    const restored = await journalled.restore()
    expect(await disabledIn(restored)).toEqual([0, 2])
    const [gap = ''] = (await openOf(restored)) ?? []
    expect(gap).toMatch(/^gap:[0-9a-z]{12}:\d+$/)
    expect(await journalled.finish(restored)).toMatchObject({ finished: 0, toAccept: [gap] })
    expect(await journalled.finish(restored, ['gap:another:1'])).toMatchObject({ finished: 0, toAccept: [gap] })
    expect(await hasUnfinishedRestore(restored.db)).toBe(true)
    expect(await journalled.finish(restored, [gap])).toMatchObject({ finished: 1, toAccept: [] })
    expect(await hasUnfinishedRestore(restored.db)).toBe(false)
  })

  it('one turns up in another file: it is repeated then, and the gap is none any more', async () => {
    for (const at of [0, 1, 2]) await disable(context, users[at])
    const whole = `${journalled.journal}.copy`
    writeFileSync(whole, readFileSync(journalled.journal))
    change((lines) => lines.toSpliced(lineOf(lines, 1), 1))
    const restored = await journalled.restore()
    expect(await disabledIn(restored)).toEqual([0, 2])
    expect(await journalled.finish(restored, [], [whole])).toMatchObject({
      finished: 1,
      repeated: { users: 1, codes: 0 },
    })
    expect(await disabledIn(restored)).toEqual([0, 1, 2])
  })

  it('one was altered: it is not repeated, and named beside the gap', async () => {
    for (const at of [0, 1, 2]) await disable(context, users[at])
    change((lines) => lines.map((line) => line.replaceAll(users[1]?.id ?? '', users[4]?.id ?? '')))
    const restored = await journalled.restore()
    expect(await disabledIn(restored)).toEqual([0, 2])
    expect(await openOf(restored)).toEqual([expect.stringMatching(/^gap:/), 'unproven:1'])
  })

  it('two changed places: both are repeated, and the place is named', async () => {
    for (const at of [0, 1, 2]) await disable(context, users[at])
    change((lines) => [...lines.slice(0, -2), ...lines.slice(-2).toReversed()])
    const restored = await journalled.restore()
    expect(await disabledIn(restored)).toEqual([0, 1, 2])
    expect(await openOf(restored)).toEqual([expect.stringMatching(/^gap:/)])
  })

  it('the last one was cut off by a crash: nothing is named', async () => {
    for (const at of [0, 1]) await disable(context, users[at])
    change((lines) => lines.with(-1, lines.at(-1)?.slice(0, 80) ?? ''))
    const restored = await journalled.restore()
    expect(await disabledIn(restored)).toEqual([0])
    expect(await openOf(restored)).toEqual([])
  })
})

it('a restore is settled once, however lines of before and after it are moved', async () => {
  await disable(context, users[0])
  const restored = await journalled.restore()
  await journalled.finish(restored)
  await disable(restored, users[1])
  change((lines) => lines.toReversed())
  await settleRestore(restored, 'all')
  expect(await readRestores(restored.db, 5)).toMatchObject([{ finished: true }, { finished: true }])
  expect(await hasUnfinishedRestore(restored.db)).toBe(false)
})

describe('a line that was written by hand', () => {
  const forge = ({ id }: { readonly id: string }) =>
    change((lines) => [
      ...lines,
      `{"kind":"account.closed","event":999999,"at":"2026-11-19 21:30:00.000000+00","account":"${id}"}`,
    ])

  it('closes no account after a restore, and keeps it unfinished', async () => {
    const { account } = journalled.service
    await disable(context, users[0])
    forge(account)
    const restored = await journalled.restore()
    expect(await findAccount(restored.db, account.slug)).not.toBeNull()
    expect(await disabledIn(restored)).toEqual([0])
    expect(await openOf(restored)).toEqual(['unproven:1'])
    expect(await journalled.finish(restored)).toMatchObject({ finished: 0 })
    expect(await journalled.finish(restored, ['unproven:1'])).toMatchObject({ finished: 1 })
  })

  it('begins no restore, ends no session, and is shown to operators', async () => {
    const { account, config } = journalled.service
    const before = await readRestores(context.db, 5)
    forge(account)
    await settleRestore(context)
    expect(await findAccount(context.db, account.slug)).not.toBeNull()
    expect(await readRestores(context.db, 5)).toEqual(before)
    const journals = { own: context.journal, files: [], keys: config.keys }
    expect(await checkRestore(context.db, journals)).toMatchObject({ newest: null, toAccept: ['unproven:1'], lost: 0 })
  })
})
