/** One application from the developer console, as an operator approves it or withdraws the approval. */
import { operatorHref } from '../reviews/line.tsx'
import { Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'

export type VettedApplication = {
  readonly id: string
  readonly name: string
  readonly account: string
  readonly scopes: readonly string[]
  readonly redirects: readonly string[]
  /** Connections by users of other accounts before it was approved. */
  readonly outsideGrants: number
  /** E-mail address of the developer who asked for the review. */
  readonly by: string | null
  readonly vetted: boolean
  /** When the review was requested, or when the application was approved. */
  readonly since: number
}

export type VettedApplicationModel = { readonly application: VettedApplication; readonly maxOutsideGrants: number }

export function vettedApplicationPage(frame: Frame, model: VettedApplicationModel): string {
  const { words } = frame
  const { application, maxOutsideGrants: max } = model
  const { id, name, account, scopes, redirects, outsideGrants: count, by, vetted, since } = application
  return page(
    frame,
    name,
    <>
      <header class="stack tight">
        <p>
          <a href={`/operator/vetting?filter=${vetted ? 'vetted' : 'requested'}`}>
            {words.t('operator.back_to_vettings')}
          </a>
        </p>
        <h1>
          <bdi>{name}</bdi>
        </h1>
        <p>
          <a href={operatorHref(id)}>{words.t('operator.application_details')}</a>
        </p>
      </header>
      <section class="card stack" aria-label={words.t('operator.nav_vetting')}>
        <Facts>
          <Fact name={words.t('operator.vetting_account')}>
            <bdi>{account}</bdi>
          </Fact>
          <Fact name={words.t('operator.vetting_by')}>{by !== null && <bdi>{by}</bdi>}</Fact>
          <Fact name={words.t('vetting.since')}>
            <Moment words={words} ms={since} />
          </Fact>
          <Fact name={words.t('vetting.grants')}>{!vetted && words.t('vetting.grants_count', { count, max })}</Fact>
          <Fact name={words.t('own_application.scopes')}>
            <Technical lines={scopes} />
          </Fact>
          <Fact name={words.t('own_application.redirects')}>
            {redirects.length > 0 && <Technical lines={redirects} />}
          </Fact>
        </Facts>
        <Form
          frame={frame}
          action={vetted ? '/operator/vetting/withdraw' : '/operator/vetting/approve'}
          bound={{ application: id }}
        >
          <button type="submit" class={vetted ? 'button quiet' : 'button'}>
            {words.t(vetted ? 'operator.vetting_withdraw' : 'operator.vetting_approve')}
          </button>
        </Form>
      </section>
    </>,
    { wide: true, within: '/operator/vetting' },
  )
}

function Technical({ lines }: { readonly lines: readonly string[] }) {
  return (
    <ul class="titles">
      {lines.map((line) => (
        <li key={line}>
          <bdi class="technical" dir="ltr">
            {line}
          </bdi>
        </li>
      ))}
    </ul>
  )
}
