/** Checkboxes for the roles of a user, each with what the role allows. */
import type { ComponentChildren } from 'preact'
import { Titles } from '../ui/facts.tsx'
import { Checkbox } from '../ui/field.tsx'
import type { Words } from '../ui/words.ts'

export type RoleOption = {
  readonly id: string
  readonly name: string
  readonly checked: boolean
  /** Scope titles. */
  readonly titles: readonly string[]
  /** Administrators' role: allows every scope and opens the administrators' pages. */
  readonly everything: boolean
}

type RoleChoiceProps = {
  readonly words: Words
  readonly legend: ComponentChildren
  readonly roles: readonly RoleOption[]
  readonly problem: string | null
}

/** Each box is submitted as `role.<id>`. */
export function RoleChoice({ words, legend, roles, problem }: RoleChoiceProps) {
  const described = problem === null ? 'roles-hint' : 'roles-hint roles-problem'
  return (
    <fieldset class="listed" aria-describedby={described}>
      <legend>{legend}</legend>
      <p class="hint" id="roles-hint">
        {words.t('role_choice.hint')}
      </p>
      {problem !== null && (
        <p class="wrong" id="roles-problem">
          {problem}
        </p>
      )}
      {roles.map((role) => (
        <Checkbox
          id={boxOf(role)}
          name={`role.${role.id}`}
          label={<bdi>{role.name}</bdi>}
          hint={<RoleAllows words={words} role={role} />}
          checked={role.checked}
          key={role.id}
        />
      ))}
    </fieldset>
  )
}

const boxOf = (role: { readonly id: string }) => `role-${role.id}`

/** Id of the first checkbox: the link target of the problem summary. */
export function firstBoxOf(roles: readonly RoleOption[]): string | null {
  const [first] = roles
  return first ? boxOf(first) : null
}

export function RoleAllows({
  words,
  role,
}: {
  readonly words: Words
  readonly role: Pick<RoleOption, 'titles' | 'everything'>
}) {
  if (role.everything) return <>{words.t('role_choice.everything')}</>
  if (role.titles.length === 0) return <>{words.t('role_choice.nothing')}</>
  return <Titles titles={role.titles} />
}
