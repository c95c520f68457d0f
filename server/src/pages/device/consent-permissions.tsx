/** Permissions section of the consent pages: scopes to be granted and, apart, scopes that the user cannot grant. */

import type { Frame } from '../ui/frame.ts'
import { Icon } from '../ui/icon.tsx'
import type { Words } from '../ui/words.ts'

export type Permission = { readonly name: string; readonly title: string; readonly dangerous: boolean }

export type LackingPermission = Permission & {
  /** Roles that include it. */
  readonly roles: readonly string[]
  /** The application requires it. */
  readonly required: boolean
}

export type PermissionsModel = {
  readonly application: string
  readonly can: readonly Permission[]
  readonly lacking: readonly LackingPermission[]
}

export function Permissions({ frame, model }: { readonly frame: Frame; readonly model: PermissionsModel }) {
  const { words } = frame
  return (
    <>
      {(model.can.length > 0 || model.lacking.length === 0) && (
        <section class="stack tight" aria-labelledby="can">
          <h2 id="can">{words.t('consent.can')}</h2>
          {model.can.length === 0 ? (
            <p>{words.t('consent.can_nothing')}</p>
          ) : (
            <ul class="permissions">
              {model.can.map((permission) => (
                <Given words={words} permission={permission} key={permission.name} />
              ))}
            </ul>
          )}
        </section>
      )}
      {model.lacking.length > 0 && (
        <section class="stack tight must-see" aria-labelledby="lacking">
          <h2 id="lacking">{words.t(model.can.length > 0 ? 'consent.lacking' : 'consent.lacking_only')}</h2>
          <ul class="permissions lacking">
            {model.lacking.map((permission) => (
              <Lacking frame={frame} permission={permission} key={permission.name} />
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function Given({ words, permission }: { readonly words: Words; readonly permission: Permission }) {
  return (
    <li class={permission.dangerous ? 'must-see dangerous' : 'must-see'}>
      <Icon name={permission.dangerous ? 'warning' : 'check'} />
      <div>
        {permission.title}
        {permission.dangerous && <p class="hint">{words.t('consent.dangerous')}</p>}
      </div>
    </li>
  )
}

function Lacking({ frame, permission }: { readonly frame: Frame; readonly permission: LackingPermission }) {
  const { words } = frame
  const { roles } = permission
  const name = frame.account?.name ?? ''
  return (
    <li>
      <Icon name="minus" />
      <div>
        {permission.title}
        <p class="hint">
          {roles.length === 0
            ? words.t('consent.ask_nobody', { name })
            : words.t('consent.ask_for_role', { name, role: words.either(roles) })}
        </p>
        {permission.required && <p class="hint">{words.t('consent.required')}</p>}
      </div>
    </li>
  )
}
