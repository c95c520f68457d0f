/** Whether operators have looked at an application, and what it may not have until then, for its developer. */
import { Day } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'

export type VettingModel = {
  readonly outsideGrants: number
  readonly maxOutsideGrants: number
  readonly requestedAt: number | null
  readonly vettedAt: number | null
}

type VettingProps = { readonly frame: Frame; readonly id: string; readonly vetting: VettingModel }

export function VettingCard({ frame, id, vetting }: VettingProps) {
  const { words } = frame
  const { outsideGrants: count, maxOutsideGrants: max, requestedAt, vettedAt } = vetting
  const state = vettedAt !== null ? 'vetted' : requestedAt !== null ? 'requested' : 'unvetted'
  const since = vettedAt ?? requestedAt
  return (
    <section class="card stack" aria-labelledby="vetting">
      <h2 id="vetting">{words.t('vetting.title')}</h2>
      <p>{words.t(state === 'vetted' ? 'vetting.vetted_text' : 'vetting.unvetted_text', { max })}</p>
      <Facts>
        <Fact name={words.t('vetting.state')}>{words.t(`vetting.state_${state}`)}</Fact>
        <Fact name={words.t('vetting.since')}>{since !== null && <Day words={words} ms={since} />}</Fact>
        <Fact name={words.t('vetting.grants')}>
          {state !== 'vetted' && words.t('vetting.grants_count', { count, max })}
        </Fact>
      </Facts>
      {state === 'unvetted' && (
        <Form frame={frame} action="/developer/application/vetting" bound={{ application: id }}>
          <button type="submit" class="button quiet">
            {words.t('vetting.request')}
          </button>
        </Form>
      )}
    </section>
  )
}
