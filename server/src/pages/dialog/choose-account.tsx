/**
 * Account chooser on the service's own host, before an application's dialog and before the entry of a user code.
 * Accounts that this browser has used are one click away. A code is never prefilled.
 */
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'
import type { Words } from '../ui/words.ts'

export type ChooseAccountModel = {
  readonly purpose:
    | { readonly kind: 'dialog'; readonly application: string; readonly request: string }
    | { readonly kind: 'activate' }
  /** Accounts that this browser has used. */
  readonly known: readonly { readonly slug: string; readonly host: string }[]
  /** Host suffix after the slug: `.service.example`. */
  readonly suffix: string
  /** The rejected input, for correction. */
  readonly typed: string
  readonly problem: null | 'empty' | 'unknown'
}

export function chooseAccountPage(frame: Frame, model: ChooseAccountModel): string {
  const { words } = frame
  const { purpose, known, problem } = model
  const wrong = problem && words.t(`choose_account.problem_${problem}`)
  const action = purpose.kind === 'dialog' ? '/dialog' : '/activate'
  const hidden = purpose.kind === 'dialog' ? { request: purpose.request } : {}
  return page(
    frame,
    words.t(`choose_account.title_${purpose.kind}`),
    <>
      <Problems words={words} problems={wrong ? [{ field: 'typed', text: wrong }] : []} />
      <section class="card stack">
        <h1>{heading(words, purpose)}</h1>
        <p>{words.t(`choose_account.text_${purpose.kind}`)}</p>
        {/* Two forms: Enter in the field must press its own button, not that of the first account. */}
        {known.length > 0 && (
          <Form frame={frame} action={action} hidden={hidden} class="stack tight">
            <h2>{words.t('choose_account.known')}</h2>
            {known.map(({ slug, host }) => (
              <button type="submit" class="button quiet block host" name="account" value={slug} key={slug}>
                <bdi dir="ltr">{host}</bdi>
              </button>
            ))}
          </Form>
        )}
        <Form frame={frame} action={action} hidden={hidden} class="stack">
          <Field
            id="typed"
            label={words.t(known.length > 0 ? 'choose_account.another' : 'choose_account.typed')}
            hint={words.t('choose_account.hint')}
            after={model.suffix}
            problem={wrong}
            value={model.typed}
            focus={!wrong && known.length === 0}
          />
          <button type="submit" class="button block">
            {words.t('choose_account.continue')}
          </button>
        </Form>
      </section>
    </>,
    { problem: wrong !== null, single: true },
  )
}

function heading(words: Words, purpose: ChooseAccountModel['purpose']) {
  return purpose.kind === 'dialog'
    ? words.rich('choose_account.heading_dialog', { application: purpose.application, b: strong })
    : words.t('choose_account.heading_activate')
}
