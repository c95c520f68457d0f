/**
 * Consent page of the dialog: application, user, scopes, lifetime, redirect host, and two buttons of equal weight that
 * stay visible however long the list is.
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
  /** The scopes as shown; bound to the form token. */
  readonly shown: string
  readonly application: string
  readonly publisher: Publisher
  /** Logo URL; null if there is none or it must not be shown. */
  readonly logo: string | null
  /** Host of the redirect URI, the target of either answer. */
  readonly returnTo: string
  /** Days without use after which a token set expires. */
  readonly unusedDays: number
  /** Days after which it expires in any case. */
  readonly maxDays: number
  readonly can: readonly Permission[]
  readonly lacking: readonly LackingPermission[]
  readonly grantable: boolean
  readonly suspended: boolean
  readonly problem: null | 'changed'
  /** Preview for the application's developer: same look, nothing to submit. */
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
          {/* Named, not linked: a link would leave the dialog before the user has answered. */}
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
