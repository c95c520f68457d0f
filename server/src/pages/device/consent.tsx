/**
 * Consent page of the device flow, for one screen of a phone: application, user, code, scopes, and two buttons of equal
 * weight that stay in sight. Details unfold; warnings, dangerous scopes and scopes that the user lacks never do.
 */

import { Field } from '../ui/field.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import { AnswerButton, Answers, Outlook } from './consent-answers.tsx'
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
        {!(model.prevented === null && model.variant === 'token_set') && <Outlook words={words} model={model} />}
        {model.prevented === null && model.retype && (
          <div class="must-see">
            <Field
              id="last_group"
              form={ANSWER}
              label={words.t('consent.retype')}
              hint={words.t('consent.retype_hint', { application })}
              problem={problem === 'retype' ? wrong : null}
              inputmode="numeric"
              autocomplete="off"
              code
            />
          </div>
        )}
        <Decision frame={frame} model={model} />
      </article>
    </>,
    { problem: problem !== null, single: true, compact: true },
  )
}

/** Id of the form, for the field above it and the button below it. */
const ANSWER = 'answer'

function Decision({ frame, model }: { readonly frame: Frame; readonly model: ConsentModel }) {
  const { words } = frame
  const { preview = false } = model
  return (
    <>
      <AnswerForm
        frame={frame}
        id={ANSWER}
        action="/connect/decision"
        bound={{ ref: model.ref, shown: model.shown }}
        class="sticky"
        preview={preview}
      >
        {/* Enter in the field above presses the first button: Cancel is the safe default. */}
        <Answers words={words} offered={model.prevented === null} preview={preview} />
      </AnswerForm>
      <div>
        <AnswerButton class="plain" decision="not_me" form={ANSWER} preview={preview}>
          {words.t('consent.not_me')}
        </AnswerButton>
      </div>
    </>
  )
}
