/**
 * The decision: who asks, who is asked, for what, from where and for how long; and two answers of the same weight. What the
 * server saw and what the application says of itself stand apart.
 */
import { Permissions } from './consent-permissions.tsx'
import { CodeAsked, Warnings } from './consent-request.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { type Frame, initialOf, page } from './layout.tsx'
import { Problems } from './notice.tsx'
import { type Publisher, PublisherLine } from './publisher.tsx'
import { strong } from './strong.tsx'

export type Permission = { readonly name: string; readonly title: string; readonly dangerous: boolean }

export type LackingPermission = Permission & {
  /** The roles that would bring it. */
  readonly roles: readonly string[]
  /** The application cannot work without it. */
  readonly required: boolean
}

export type ConsentModel = {
  readonly ref: string
  /** The scopes as shown; the form is tied to them. */
  readonly shown: string
  readonly application: string
  readonly publisher: Publisher
  /** In groups. */
  readonly userCode: string
  /** Milliseconds since it was asked for, and until it ends. */
  readonly age: number
  readonly remaining: number
  readonly variant: 'token_set' | 'access_key'
  /** After so many days without use a token set ends. */
  readonly unusedDays: number
  readonly request: {
    readonly address: string | null
    readonly place: string | null
    readonly network: string | null
    /** Another country than the viewer's. */
    readonly elsewhere: boolean
    /** What the application's device calls itself. */
    readonly says: string | null
  }
  readonly can: readonly Permission[]
  readonly lacking: readonly LackingPermission[]
  readonly grantable: boolean
  readonly suspended: boolean
  /** The last group of the code must be typed again. */
  readonly retype: boolean
  /** Many people were asked by this application from the same place in the last minutes. */
  readonly crowded: boolean
  readonly problem: null | 'retype' | 'changed'
}

export function consentPage(frame: Frame, model: ConsentModel): string {
  const { words } = frame
  const { application, problem } = model
  const wrong = problem && words.t(`consent.problem_${problem}`)
  return page(
    frame,
    words.t('consent.title', { application }),
    <>
      <Problems
        words={words}
        problems={wrong ? [{ field: problem === 'retype' ? 'last_group' : null, text: wrong }] : []}
      />
      <article class="card stack consent">
        <Parties frame={frame} model={model} />
        <Warnings words={words} model={model} />
        <CodeAsked words={words} model={model} />
        <Permissions frame={frame} model={model} />
        <Decision frame={frame} model={model} wrong={problem === 'retype' ? wrong : null} />
      </article>
    </>,
    { problem: problem !== null, single: true },
  )
}

type PartProps = { readonly frame: Frame; readonly model: ConsentModel }

function Parties({ frame, model }: PartProps) {
  const { words, account, user } = frame
  return (
    <header class="stack tight">
      <div class="pair" aria-hidden="true">
        <span class="initial asking">{initialOf(model.application)}</span>
        <span class="line" />
        {account?.logo ? (
          <img src={account.logo} alt="" width="56" height="56" />
        ) : (
          <span class="initial">{initialOf(account?.name ?? '')}</span>
        )}
      </div>
      <h1>{words.rich('consent.heading', { application: model.application, name: account?.name ?? '', b: strong })}</h1>
      <p>
        <PublisherLine words={words} publisher={model.publisher} />
      </p>
      {model.publisher.standing === 'verified' && <p class="hint">{words.t('consent.verified_hint')}</p>}
      <Form frame={frame} action="/connect/switch" bound={{ ref: model.ref }} class="chip">
        <span>{words.rich('consent.signed_in_as', { email: user?.email ?? '', b: strong })}</span>
        <button type="submit" class="plain">
          {words.rich('consent.not_you', { more: (chunks) => <span class="visually-hidden">{chunks}</span> })}
        </button>
      </Form>
    </header>
  )
}

function Decision({ frame, model, wrong }: PartProps & { readonly wrong: string | null }) {
  const { words } = frame
  const { application } = model
  const offered = model.grantable && !model.suspended
  return (
    <section class="stack" aria-labelledby="decision">
      <h2 id="decision">{words.t(offered ? 'consent.how_long' : 'consent.not_possible')}</h2>
      <p>
        {offered
          ? words.t(`consent.lasts_${model.variant}`, { days: model.unusedDays })
          : words.rich(model.suspended ? 'consent.suspended' : 'consent.not_grantable', { application, b: strong })}
      </p>
      <Form frame={frame} action="/connect/decision" bound={{ ref: model.ref, shown: model.shown }} class="stack">
        {offered && model.retype && (
          <Field
            id="last_group"
            label={words.t('consent.retype')}
            hint={words.t('consent.retype_hint', { application })}
            problem={wrong}
            inputmode="numeric"
            autocomplete="off"
            code
          />
        )}
        {/* Enter in the field above presses the first button: when in doubt, no. */}
        <div class="choice">
          <button type="submit" class="button answer" name="decision" value="cancel">
            {words.t('consent.cancel')}
          </button>
          {offered && (
            <button type="submit" class="button answer" name="decision" value="allow">
              {words.t('consent.allow')}
            </button>
          )}
        </div>
        <button type="submit" class="plain" name="decision" value="not_me">
          {words.t('consent.not_me')}
        </button>
      </Form>
      {offered && (
        <p class="hint">{words.rich('consent.later', { a: (chunks) => <a href="/applications">{chunks}</a> })}</p>
      )}
    </section>
  )
}
