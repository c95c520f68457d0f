/** A request of developers, as an operator answers it: approval of an application, or a new name or logo. */
import { MAX_OUTSIDE_GRANTS } from '../../core/applications/vetting.ts'
import type { RequestKind, VettingRequest } from '../../core/reviews/queue.ts'
import { PublisherLine } from '../applications/publisher.tsx'
import { Avatar } from '../ui/avatar.tsx'
import { Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { OwnWords } from '../ui/field-kinds.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import type { Words } from '../ui/words.ts'
import type { AnswerForm, RequestModel } from './application-model.ts'
import { ProveLink } from './decide.tsx'

type CardProps = {
  readonly frame: Frame
  readonly applicationId: string
  readonly request: RequestModel
  /** State that the answer depends on, as of rendering; null: the operator has to authenticate again first. */
  readonly seen: string | null
  readonly form: AnswerForm | null
}

export function RequestCard({ frame, applicationId, request, seen, form }: CardProps) {
  const { words } = frame
  const { kind, by, since } = request
  return (
    <section class="card stack" aria-labelledby={kind}>
      <h2 id={kind}>{words.t(`operator.kind_${kind}`)}</h2>
      <p class="soft">{words.t(`operator.${kind}_text`, { max: MAX_OUTSIDE_GRANTS })}</p>
      {kind === 'profile' && <PublisherLine words={words} publisher={request.publisher} />}
      <div class="beside">
        <Facts>
          {kind === 'profile' ? (
            <Profile words={words} request={request} />
          ) : (
            <Vetting words={words} request={request} />
          )}
          <Fact name={words.t('operator.requested_by')}>{by !== null && <bdi>{by}</bdi>}</Fact>
          <Fact name={words.t('vetting.since')}>
            <Moment words={words} ms={since} />
          </Fact>
        </Facts>
        {seen === null ? (
          <ProveLink words={words} applicationId={applicationId} />
        ) : (
          <Answers
            frame={frame}
            bound={{ application: applicationId, kind, seen }}
            approved={kind === 'vetting' && request.approved}
            form={form?.kind === kind ? form : null}
          />
        )}
      </div>
    </section>
  )
}

type FactsProps<Request> = { readonly words: Words; readonly request: Request }

function Vetting({ words, request }: FactsProps<VettingRequest>) {
  const { approved, outsideGrants: count, scopes, redirectUris } = request
  return (
    <>
      <Fact name={words.t('vetting.state')}>{words.t(`vetting.state_${approved ? 'vetted' : 'requested'}`)}</Fact>
      <Fact name={words.t('vetting.grants')}>
        {!approved && words.t('vetting.grants_count', { count, max: MAX_OUTSIDE_GRANTS })}
      </Fact>
      <Fact name={words.t('own_application.scopes')}>
        <Technical lines={scopes} />
      </Fact>
      <Fact name={words.t('own_application.redirects')}>
        {redirectUris.length > 0 && <Technical lines={redirectUris} />}
      </Fact>
    </>
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

function Profile({ words, request }: FactsProps<Extract<RequestModel, { kind: 'profile' }>>) {
  return (
    <>
      <Fact name={words.t('operator.change_now')}>
        <Named name={request.nameNow} logo={request.logoNow} />
      </Fact>
      <Fact name={words.t('operator.change_new')}>
        <Named name={request.name} logo={request.logo} />
      </Fact>
    </>
  )
}

function Named({ name, logo }: { readonly name: string; readonly logo: string | null }) {
  return (
    <div class="named">
      <Avatar name={name} logo={logo} />
      <bdi>{name}</bdi>
    </div>
  )
}

type AnswersProps = {
  readonly frame: Frame
  readonly bound: { readonly application: string; readonly kind: RequestKind; readonly seen: string }
  readonly approved: boolean
  readonly form: AnswerForm | null
}

const ACTION = '/operator/application/answer'

function Answers({ frame, bound, approved, form }: AnswersProps) {
  const { words } = frame
  return (
    <div class="stack">
      {!approved && (
        <Form frame={frame} action={ACTION} bound={bound} hidden={{ answer: 'approve' }}>
          <button type="submit" class="button">
            {words.t('operator.approve')}
          </button>
        </Form>
      )}
      <Form frame={frame} action={ACTION} bound={bound} hidden={{ answer: 'decline' }} class="stack">
        <OwnWords
          id={wordsField(bound.kind)}
          name="words"
          label={words.t('operator.words')}
          hint={words.t('operator.words_hint')}
          value={form?.words ?? ''}
          rows={3}
          problem={form?.wrong ? words.t('operator.problem_words') : null}
        />
        <p>
          <button type="submit" class="button quiet">
            {words.t(approved ? 'operator.withdraw_approval' : 'operator.decline')}
          </button>
        </p>
      </Form>
    </div>
  )
}

/** Id of the field with the message for the developers. */
export function wordsField(kind: RequestKind): string {
  return `${kind}-words`
}
