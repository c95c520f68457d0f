/** Page for a sign-in at the host service that Latchkey did not accept: why, and who can help. */
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'

export type HandOverRefusedModel = {
  readonly problem: 'expired' | 'invalid' | 'not_recent' | 'unknown' | 'disabled' | 'conflict'
  readonly next: string
}

export function handOverRefusedPage(frame: Frame, { problem, next }: HandOverRefusedModel): string {
  const { words } = frame
  const host = frame.signInAt ?? ''
  const title = words.t('hand_over.title')
  return page(
    frame,
    title,
    <section class="card stack">
      <h1>{title}</h1>
      <p role="alert">{words.t(`hand_over.problem_${problem}`, { name: frame.account?.name ?? host, host })}</p>
      <p class="actions">
        <a href={`/sign-in?next=${encodeURIComponent(next)}`} class="button block">
          {words.t('hand_over.again')}
        </a>
      </p>
    </section>,
    { problem: true },
  )
}
