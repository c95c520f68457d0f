/** Roles of the account, listed for its administrators. */

import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import { RoleAllows } from './role-choice.tsx'

type ListedRole = {
  readonly id: string
  readonly name: string
  /** Administrators' role: allows every scope and opens the administrators' pages. */
  readonly everything: boolean
  readonly titles: readonly string[]
  /** Number of users with this role. */
  readonly people: number
}

export type RolesModel = {
  /** Never empty: an account is created with the administrators' role. */
  readonly roles: readonly ListedRole[]
  readonly notice: null | 'saved' | 'removed'
}

export function rolesPage(frame: Frame, { roles, notice }: RolesModel): string {
  const { words } = frame
  return page(
    frame,
    words.t('roles.title'),
    <>
      {notice && <Notice kind="success">{words.t(`roles.notice_${notice}`)}</Notice>}
      <header class="stack tight">
        <h1>{words.t('roles.title')}</h1>
        <p class="soft">{words.t('roles.text')}</p>
        <p class="actions">
          <a class="button" href="/account/role">
            {words.t('roles.add')}
          </a>
        </p>
      </header>
      <ul class="cards">
        {roles.map((role) => (
          <RoleCard words={words} role={role} key={role.id} />
        ))}
      </ul>
    </>,
    { wide: true },
  )
}

function RoleCard({ words, role }: { readonly words: Words; readonly role: ListedRole }) {
  return (
    <li class="card stack tight">
      <div class="heading">
        <h2>
          <a class="target" href={`/account/role?role=${encodeURIComponent(role.id)}`}>
            <bdi>{role.name}</bdi>
          </a>
        </h2>
        <span class="soft">{words.t('roles.people', { count: role.people })}</span>
      </div>
      <div>
        <RoleAllows words={words} role={role} />
      </div>
    </li>
  )
}
