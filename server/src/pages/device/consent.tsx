/**
 * The decision about a code: who asks, who is asked, for what, from where and for how long; and two answers of the same
 * weight. What the server saw and what the application says of itself stand apart.
 */

import type { Publisher } from '../applications/publisher.tsx'
import { Field } from '../ui/field.tsx'
import { type Frame, page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'
import { AnswerButton, Answers, Outlook } from './consent-answers.tsx'
import { Parties } from './consent-parties.tsx'
import { type LackingPermission, type Permission, Permissions } from './consent-permissions.tsx'
import { AnswerForm, PreviewNotice } from './consent-preview.tsx'
import { CodeAsked, Warnings } from './consent-request.tsx'

export type ConsentModel = {
  readonly ref: string
  /** The scopes as shown; the form is tied to them. */
  readonly shown: string
  readonly application: string
  readonly publisher: Publisher
  /** The address of its logo. Null: it has none, or none that is shown. */
  readonly logo: string | null
  /** In groups. */
  readonly userCode: string
  /** Milliseconds since it was asked for, and until it ends. */
  readonly age: number
  readonly remaining: number
  readonly variant: 'token_set' | 'access_key'
  /** After so many days without use a token set ends. */
  readonly unusedDays: number
  /** After so many days it ends in any case. */
  readonly maxDays: number
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
  /** Another user of the account entered the same code. */
  readonly shared: boolean
  readonly problem: null | 'retype' | 'changed'
  /** Shown to whoever makes the application. It looks the same, and nothing of it can be answered. */
  readonly preview?: true
}

export function consentPage(frame: Frame, model: ConsentModel): string {
  const { words } = frame
  const { application, problem, preview = false } = model
  const wrong = problem && words.t(`consent.problem_${problem}`)
  return page(
    frame,
    words.t('consent.title', { application }),
    <>
      {preview && <PreviewNotice frame={frame} />}
      <Problems
        words={words}
        problems={wrong ? [{ field: problem === 'retype' ? 'last_group' : null, text: wrong }] : []}
      />
      <article class="card stack consent">
        <Parties
          frame={frame}
          application={application}
          publisher={model.publisher}
          logo={model.logo}
          change={preview ? null : { action: '/connect/switch', bound: { ref: model.ref } }}
        />
        <Warnings frame={frame} model={model} />
        <CodeAsked words={words} model={model} />
        <Permissions frame={frame} model={model} />
        <Decision frame={frame} model={model} wrong={problem === 'retype' ? wrong : null} />
      </article>
    </>,
    { problem: problem !== null, single: true },
  )
}

type DecisionProps = { readonly frame: Frame; readonly model: ConsentModel; readonly wrong: string | null }

function Decision({ frame, model, wrong }: DecisionProps) {
  const { words } = frame
  const { application, preview = false } = model
  const offered = model.grantable && !model.suspended
  return (
    <section class="stack" aria-labelledby="decision">
      <Outlook words={words} id="decision" model={model} />
      <AnswerForm
        frame={frame}
        action="/connect/decision"
        bound={{ ref: model.ref, shown: model.shown }}
        class="stack"
        preview={preview}
      >
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
        <Answers words={words} offered={offered} preview={preview} />
        <AnswerButton class="plain" decision="not_me" preview={preview}>
          {words.t('consent.not_me')}
        </AnswerButton>
      </AnswerForm>
      {offered && (
        <p class="hint">
          {words.rich('consent.later', { a: preview ? strong : (chunks) => <a href="/applications">{chunks}</a> })}
        </p>
      )}
    </section>
  )
}
