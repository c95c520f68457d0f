/** Confirmation page before a grant is revoked: tells what stops and what does not. */
import { Checkbox } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { strong } from '../ui/strong.tsx'
import { GrantFacts, type GrantLine } from './grant-line.tsx'

export type RemoveApplicationModel = {
  readonly grant: GrantLine
  /** The list to return to. */
  readonly back: string
  /** `/applications/remove`, or `/account/applications/remove` for administrators. */
  readonly action: string
}

export function removeApplicationPage(frame: Frame, { grant, back, action }: RemoveApplicationModel): string {
  const { words } = frame
  const { application, user } = grant
  const title = words.t('remove_application.title', { application })
  return page(
    frame,
    title,
    <section class="card stack">
      <h1>{title}</h1>
      <GrantFacts words={words} grant={grant} />
      <section class="stack tight" aria-labelledby="stops">
        <h2 id="stops">{words.t('remove_application.stops')}</h2>
        <ul class="titles">
          <li>
            {user === undefined
              ? words.t('remove_application.stops_yours', { application })
              : words.rich('remove_application.stops_theirs', { application, user, b: strong })}
          </li>
          <li>{words.t('remove_application.stays')}</li>
          <li>{words.t('remove_application.only_this')}</li>
          <li>{words.t('remove_application.again')}</li>
        </ul>
      </section>
      <Form frame={frame} action={action} bound={{ grant: grant.id }} class="stack">
        <Checkbox
          id="report"
          label={words.t('remove_application.report')}
          hint={words.t('remove_application.report_hint')}
        />
        <div class="choice">
          <a class="button quiet" href={back}>
            {words.t('remove_application.keep')}
          </a>
          <button type="submit" class="button danger">
            {words.t('remove_application.remove')}
          </button>
        </div>
      </Form>
    </section>,
  )
}
