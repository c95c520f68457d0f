/** Grants of all users of the account, for its administrators. */

import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'
import { type GrantLine, GrantList, OlderGrants } from './grant-line.tsx'

export type AccountApplicationsModel = {
  /** Newest first, each with its user. */
  readonly grants: readonly GrantLine[]
  /** Name of the application that was just removed. */
  readonly removed: string | null
  /** Cursor of the next page; null on the last one. */
  readonly after: string | null
}

export function accountApplicationsPage(frame: Frame, model: AccountApplicationsModel): string {
  const { words } = frame
  const { grants, removed, after } = model
  const name = frame.account?.name ?? ''
  return page(
    frame,
    words.t('account_applications.title'),
    <>
      {removed !== null && (
        <Notice kind="success">{words.t('account_applications.removed', { application: removed })}</Notice>
      )}
      <header class="stack tight">
        <h1>{words.t('account_applications.title')}</h1>
        <p class="soft">{words.t('account_applications.text', { name })}</p>
        <p class="soft">
          {words.rich('account_applications.policy', { a: (chunks) => <a href="/account/policy">{chunks}</a> })}
        </p>
      </header>
      {grants.length === 0 ? (
        <section class="card">
          <p>{words.t('account_applications.none', { name })}</p>
        </section>
      ) : (
        <>
          <GrantList words={words} grants={grants} remove="/account/applications/remove" />
          <OlderGrants words={words} path="/account/applications" after={after} />
        </>
      )}
    </>,
    { wide: true },
  )
}
