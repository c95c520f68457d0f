/** Connected applications of the signed-in user. */

import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'
import { type GrantLine, GrantList, OlderGrants } from './grant-line.tsx'

export type ApplicationsModel = {
  /** Newest first. */
  readonly grants: readonly GrantLine[]
  /** Name of the application that was just removed. */
  readonly removed: string | null
  /** Cursor of the next page; null on the last one. */
  readonly after: string | null
}

export function applicationsPage(frame: Frame, { grants, removed, after }: ApplicationsModel): string {
  const { words } = frame
  return page(
    frame,
    words.t('applications.title'),
    <>
      {removed !== null && <Notice kind="success">{words.t('applications.removed', { application: removed })}</Notice>}
      <header class="stack tight">
        <h1>{words.t('applications.title')}</h1>
        {grants.length > 0 && <p class="soft">{words.t('applications.text')}</p>}
      </header>
      {grants.length === 0 ? (
        <section class="card stack">
          <p>{words.t('applications.none')}</p>
          <p class="actions">
            <EnterCode frame={frame} />
          </p>
        </section>
      ) : (
        <>
          <GrantList words={words} grants={grants} remove="/applications/remove" />
          <OlderGrants words={words} path="/applications" after={after} />
          <section class="stack tight" aria-labelledby="another">
            <h2 id="another">{words.t('applications.another')}</h2>
            <p>{words.t('applications.another_text')}</p>
            <p class="actions">
              <EnterCode frame={frame} />
            </p>
          </section>
        </>
      )}
    </>,
    { wide: true },
  )
}

function EnterCode({ frame }: { readonly frame: Frame }) {
  return (
    <a class="button" href="/connect/code">
      {frame.words.t('applications.enter_code')}
    </a>
  )
}
