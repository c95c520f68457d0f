/**
 * The attacker: tries leaked pairs, each once. A process of its own with the lowest priority, as an attacker's machine takes nothing from
 * the server's.
 */
import { setPriority } from 'node:os'
import { Web } from '../rig/web.ts'

export type Guess = {
  readonly slug: string
  readonly network: string
  readonly email: string
  readonly password: string
}

export type Attack = {
  readonly address: string
  readonly publicHost: string
  readonly guesses: readonly Guess[]
  readonly concurrency: number
}

export type Progress = { readonly sent: number }

export type Result = {
  readonly answers: Readonly<Record<string, number>>
  /** When guesses that got in were sent, in ms since 1970. */
  readonly enteredAt: readonly number[]
}

process.once('message', async (attack: Attack) => {
  setPriority(19)
  process.send?.(await run(attack))
  process.disconnect()
})

async function run({ address, publicHost, guesses, concurrency }: Attack): Promise<Result> {
  const answers: Record<string, number> = {}
  const enteredAt: number[] = []
  let sent = 0
  const guesser = async () => {
    for (let guess = guesses[sent]; guess; guess = guesses[sent]) {
      sent += 1
      process.send?.({ sent } satisfies Progress)
      const at = Date.now()
      const web = new Web(address, `${guess.slug}.${publicHost}`, { 'x-forwarded-for': guess.network })
      const { email, password } = guess
      const { status } = await web.send('POST', '/sign-in', { email, password, next: '/' })
      answers[status] = (answers[status] ?? 0) + 1
      if (status === 303) enteredAt.push(at)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, guesser))
  return { answers, enteredAt }
}
