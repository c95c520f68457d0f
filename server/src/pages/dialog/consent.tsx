/**
 * Consent page of the dialog: application, user, scopes, lifetime, redirect host, and two buttons of equal weight that
 * stay visible however long the list is.
 */

import { Answers, Outlook } from '../device/consent-answers.tsx'
import type { ConsentQuestion } from '../device/consent-model.ts'
import { Parties, VerifiedHint } from '../device/consent-parties.tsx'
import { Permissions } from '../device/consent-permissions.tsx'
import { AnswerForm, PreviewNotice } from '../device/consent-preview.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'

export type DialogConsentModel = ConsentQuestion & {
  readonly request: string
  /** Host of the redirect URI, the target of either answer. */
  readonly returnTo: string
  readonly problem: null | 'changed'
}

export function dialogConsentPage(frame: Frame, model: DialogConsentModel): string {
  const { words } = frame
  const { application, request, problem, preview = false } = model
  const offered = model.prevented === null
  return page(
    frame,
    words.t('consent.title', { application }),
    <>
      {preview && <PreviewNotice frame={frame} />}
      <Problems words={words} problems={problem ? [{ field: null, text: words.t('consent.problem_changed') }] : []} />
      <article class="card stack consent">
        <Parties
          frame={frame}
          application={application}
          publisher={model.publisher}
          logo={model.logo}
          change={preview ? null : { action: '/dialog/switch', bound: { request } }}
        />
        <Permissions frame={frame} model={model} />
        <div>
          <Outlook words={words} model={{ ...model, variant: 'token_set' }} />
          {/* Named, not linked: a link would leave the dialog before the user has answered. */}
          {offered && <p class="hint">{words.rich('consent.later', { a: strong })}</p>}
          <VerifiedHint words={words} publisher={model.publisher} />
        </div>
        <AnswerForm
          frame={frame}
          action="/dialog/decision"
          bound={{ request, shown: model.shown }}
          class="stack tight sticky"
          preview={preview}
        >
          <p class="hint">{words.rich('dialog_consent.return_to', { host: model.returnTo, b: strong })}</p>
          <Answers words={words} offered={offered} preview={preview} />
        </AnswerForm>
      </article>
    </>,
    { problem: problem !== null, single: true },
  )
}
