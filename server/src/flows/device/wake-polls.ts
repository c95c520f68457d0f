/** Wakes the polls of a code that was decided, closed or handed to another cell, so that they read its row. */
import type { Context } from '../context.ts'

export async function wakePolls({ gate, decisionBus }: Context, id: string): Promise<void> {
  await Promise.all([gate.drop(id), decisionBus.announce(id)])
}

/**
 * Called after a code was decided or closed. `issuedBy`: the cell at which the device polls; null: this one. If the message to another cell
 * is lost, that cell asks for the outcome at the next poll.
 */
export async function announceDecision(context: Context, id: string, issuedBy: number | null): Promise<void> {
  await wakePolls(context, id)
  if (issuedBy !== null) void context.cells?.ask(issuedBy, 'decided', { id }).catch(() => {})
}
