/** What became of a request: allowed, cancelled, reported, or not open any more. */
import { Icon } from './icon.tsx'
import { type Frame, page } from './layout.tsx'
import { strong } from './strong.tsx'

export type DecidedModel = {
  /** `closed`: expired, used, or entered by somebody else; one text for all. */
  readonly outcome: 'granted' | 'rejected' | 'reported' | 'closed'
  readonly application: string | null
}

export function decidedPage(frame: Frame, { outcome, application }: DecidedModel): string {
  const { words } = frame
  const named = { application: application ?? words.t('decided.the_application'), b: strong }
  return page(
    frame,
    words.t(`decided.${outcome}`),
    <section class="card stack">
      <div class="headline">
        <span class={`sign ${outcome}`}>
          <Icon name={outcome === 'granted' ? 'check' : 'minus'} />
        </span>
        <h1>{words.t(`decided.${outcome}`)}</h1>
      </div>
      <p class="lead">{words.rich(`decided.${outcome}_text`, named)}</p>
      <p class="soft">{words.t(`decided.${outcome}_what`)}</p>
      <div class="actions">
        <a href={outcome === 'closed' ? '/connect/code' : '/applications'}>
          {words.t(outcome === 'closed' ? 'decided.another_code' : 'decided.applications')}
        </a>
      </div>
    </section>,
  )
}
