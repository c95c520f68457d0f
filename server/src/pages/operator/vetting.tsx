/** Applications from the developer console: those whose developers ask for a review, and those that were approved. */
import { operatorHref } from '../reviews/line.tsx'
import { Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Folded } from '../ui/folded.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { MailWaits, Notice } from '../ui/notice.tsx'

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
  /** When the review was requested, or when the application was approved. */
  readonly since: number
}

export type OperatorVettingModel = {
  /** The longest waiting first. */
  readonly requested: readonly VettedApplication[]
  /** The latest first. */
  readonly vetted: readonly VettedApplication[]
  readonly maxOutsideGrants: number
  readonly notice: null | 'vetted' | 'withdrawn' | 'unchanged'
}

export function operatorVettingPage(frame: Frame, model: OperatorVettingModel): string {
  const { words } = frame
  const { requested, vetted, maxOutsideGrants: max, notice } = model
  const title = words.t('operator.nav_vetting')
  return page(
    frame,
    title,
    <>
      {notice && (
        <Notice kind={notice === 'unchanged' ? 'warning' : 'success'}>
          {words.t(`operator.vetting_notice_${notice}`)}
          {notice !== 'unchanged' && <MailWaits frame={frame} />}
        </Notice>
      )}
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.t('operator.vetting_text', { max })}</p>
      </header>
      {requested.length === 0 && <p>{words.t('operator.vetting_none')}</p>}
      <Folded
        words={words}
        items={requested}
        shown={4}
        render={(some) =>
          some.map((application) => (
            <Listed frame={frame} application={application} vetted={false} max={max} key={application.id} />
          ))
        }
      />
      {vetted.length > 0 && <h2>{words.t('operator.vetting_vetted')}</h2>}
      <Folded
        words={words}
        items={vetted}
        shown={1}
        render={(some) =>
          some.map((application) => (
            <Listed frame={frame} application={application} vetted max={max} key={application.id} />
          ))
        }
      />
    </>,
    { wide: true },
  )
}

type ListedProps = {
  readonly frame: Frame
  readonly application: VettedApplication
  readonly vetted: boolean
  readonly max: number
}

function Listed({ frame, application, vetted, max }: ListedProps) {
  const { words } = frame
  const { id, name, account, scopes, redirects, outsideGrants: count, by, since } = application
  return (
    <section class="card stack" aria-labelledby={`vetting-${id}`}>
      <h2 id={`vetting-${id}`}>
        <a href={operatorHref(id)}>
          <bdi>{name}</bdi>
        </a>
      </h2>
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
