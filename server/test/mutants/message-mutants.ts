/** Rules about messages to the engines that are lost, changed: what a client is told, or owed, is then not so. */
import type { Mutant } from './mutant.ts'

type Changed = readonly [id: string, file: string, text: string, replacement: string, allows: string]

const changed: readonly Changed[] = [
  [
    'commit-in-doubt',
    'store/postgres/postgres.ts',
    'return rethrowAsUnavailable(error as Error)',
    'return error instanceof DatabaseError ? rethrowAsUnavailable(error) : []',
    'credentials are handed out although nobody knows whether they were issued, and handed out again',
  ],
  [
    'invalid-in-doubt',
    'flows/device/poll.ts',
    "if (!(error instanceof Unavailable)) context.events.unexpected('poll', error)\n    return unread(code, early)",
    'if (error instanceof Unavailable) return INVALID\n    return unread(code, early)',
    'a device whose poll meets a silent PostgreSQL gives up, although its user said yes',
  ],
  [
    'delivery-in-doubt',
    'flows/device/deliver.ts',
    'if (!(error instanceof Unavailable)) return context',
    'if (error instanceof Unavailable) return\n      if (!(error instanceof Unavailable)) return context',
    'an outcome whose delivery could not be recorded is delivered again',
  ],
  [
    'decision-announced-only',
    'flows/device/decision-feed.ts',
    'deviceCodeIds.forEach(heldPolls.decided)',
    '',
    'a held poll sleeps through the decision when its announcement is lost',
  ],
  [
    'dialog-decided-once',
    'core/dialog/dialog.ts',
    "same && recent && dialog.usedAt === null && !dialog.delivery ? 'repeated' : 'not_open'",
    "'not_open'",
    'a user whose yes was saved and not answered cannot return to the application',
  ],
  [
    'refresh-once',
    'core/grants/grant.ts',
    'if (generation < grant.generation - 1 || isSuccessorUsed(grant, now))',
    'if (generation < grant.generation || isSuccessorUsed(grant, now))',
    'an application that lost the answer to a refresh, and repeats it, has lost its grant',
  ],
]

const TESTS = ['server/test/faults/messages/lost-messages.test.ts']

export const messageMutants: readonly Mutant[] = changed.map(([id, file, text, replacement, allows]) => {
  return { id, file: `server/src/${file}`, text, replacement, tests: TESTS, allows }
})
