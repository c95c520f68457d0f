/** Wakes the polls of a code that was decided or closed, so that they read its row. */
import type { Context } from '../context.ts'

export async function wakePolls({ gate, decisionBus }: Context, id: string): Promise<void> {
  await Promise.all([gate.drop(id), decisionBus.announce(id)])
}
