/**
 * Consent page of the device flow: application, user, scopes, origin, lifetime, and two buttons of equal weight. Facts
 * seen by the server and claims made by the application are kept apart.
 */

import { Field } from '../ui/field.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'
import { AnswerButton, Answers, isOffered, Outlook } from './consent-answers.tsx'
import type { ConsentModel } from './consent-model.ts'
import { Parties } from './consent-parties.tsx'
import { Permissions } from './consent-permissions.tsx'
import { AnswerForm, PreviewNotice } from './consent-preview.tsx'
import { CodeAsked, Warnings } from './consent-request.tsx'

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
  const offered = isOffered(model)
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
        {/* Enter in the field above presses the first button: Cancel is the safe default. */}
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
