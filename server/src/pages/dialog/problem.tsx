/**
 * Error page of the dialog: what happened, what the user can do and, apart, the detail for the application's
 * developers.
 */
import type { ComponentChildren } from 'preact'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { strong } from '../ui/strong.tsx'
import { ForDevelopers } from './for-developers.tsx'

export type DialogProblemModel = {
  readonly problem:
    | 'unknown_application'
    | 'redirect_not_registered'
    | 'suspended'
    | 'bad_request'
    /** The dialog was opened in another browser, or its cookies are gone. */
    | 'other_browser'
    | 'expired'
    | 'answered'
    /** The account's policy does not allow this application. */
    | 'barred'
    /** The application has no redirect URI. */
    | 'not_set_up'
    /** Rate limit on dialogs per network. */
    | 'too_many'
  /** Null: unknown, or must not be named. */
  readonly application: string | null
  /** One technical line for the application's developers: `invalid_scope: …`. */
  readonly detail: string | null
  /** Redirect to the application with the error; null where none may be sent. */
  readonly returnTo: { readonly href: string; readonly host: string } | null
}

export function dialogProblemPage(
  frame: Frame,
  { problem, application, detail, returnTo }: DialogProblemModel,
): string {
  const { words } = frame
  const named =
    application === null
      ? { application: words.t('dialog_problem.the_application'), b: (chunks: ComponentChildren) => chunks }
      : { application, b: strong }
  return page(
    frame,
    words.t(`dialog_problem.${problem}`),
    <section class="card stack">
      <h1>{words.t(`dialog_problem.${problem}`)}</h1>
      <p>{words.rich(`dialog_problem.${problem}_text`, named)}</p>
      <p>{words.t(`dialog_problem.${problem}_what`)}</p>
      {returnTo ? (
        <div class="actions">
          <a class="button" href={returnTo.href} rel="noreferrer">
            {words.t('dialog_problem.return_to', { host: returnTo.host })}
          </a>
        </div>
      ) : (
        <p>{words.t('dialog_problem.close')}</p>
      )}
      {detail !== null && <ForDevelopers words={words} detail={detail} />}
    </section>,
    { single: true },
  )
}
