/**
 * The decision within the window that an application opened: who asks, who is asked, for what, for how long and where one is
 * sent back to; and two answers of the same weight, in sight however long the list is.
 */

import type { Publisher } from '../applications/publisher.tsx'
import { Answers, Outlook } from '../device/consent-answers.tsx'
import { Parties } from '../device/consent-parties.tsx'
import { type LackingPermission, type Permission, Permissions } from '../device/consent-permissions.tsx'
import { AnswerForm, PreviewNotice } from '../device/consent-preview.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'

export type DialogConsentModel = {
  readonly request: string
  /** The scopes as shown; the form is tied to them. */
  readonly shown: string
  readonly application: string
  readonly publisher: Publisher
  /** The address of its logo. Null: it has none, or none that is shown. */
  readonly logo: string | null
  /** The host of the address that either answer leads to. */
  readonly returnTo: string
  /** After so many days without use a token set ends. */
  readonly unusedDays: number
  /** After so many days it ends in any case. */
  readonly maxDays: number
  readonly can: readonly Permission[]
  readonly lacking: readonly LackingPermission[]
  readonly grantable: boolean
  readonly suspended: boolean
  readonly problem: null | 'changed'
  /** Shown to whoever makes the application. It looks the same, and nothing of it can be answered. */
  readonly preview?: true
}

export function dialogConsentPage(frame: Frame, model: DialogConsentModel): string {
  const { words } = frame
  const { application, request, problem, preview = false } = model
  const offered = model.grantable && !model.suspended
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
        <section class="stack" aria-labelledby="decision">
          <Outlook words={words} id="decision" model={{ ...model, variant: 'token_set' }} />
          {/* Named, not linked: a link would lead out of the window before there is an answer. */}
          {offered && <p class="hint">{words.rich('consent.later', { a: strong })}</p>}
        </section>
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
