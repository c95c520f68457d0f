/** Page that creates or edits one role: its name and its scopes. */
import { AreYouSure } from '../ui/are-you-sure.tsx'
import { Checkbox, Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'

export type RoleModel = {
  /** Null: a new role. */
  readonly id: string | null
  readonly name: string
  /** Administrators' role: allows every scope and opens the administrators' pages. */
  readonly everything: boolean
  readonly scopes: readonly {
    readonly name: string
    readonly title: string
    readonly dangerous: boolean
    readonly checked: boolean
  }[]
  /** Number of users with this role. */
  readonly people: number
  readonly problem: null | 'name' | 'exists'
}

type PartProps = { readonly frame: Frame; readonly model: RoleModel }

export function rolePage(frame: Frame, model: RoleModel): string {
  const { words } = frame
  const { id, people, problem } = model
  const wrong = problem && words.t(`role.problem_${problem}`)
  const title = words.t(id === null ? 'role.title_new' : 'role.title')
  return page(
    frame,
    title,
    <>
      <Problems words={words} problems={wrong ? [{ field: 'name', text: wrong }] : []} />
      <section class="card stack">
        <h1>{title}</h1>
        <p>{id === null ? words.t('role.text_new') : words.t('role.text', { count: people })}</p>
        <Form frame={frame} action="/account/role" bound={{ role: id ?? '' }} class="stack">
          <Field
            id="name"
            label={words.t('role.name')}
            hint={words.t('role.name_hint')}
            value={model.name}
            autocomplete="off"
            problem={wrong}
            focus={!problem && id === null}
          />
          <Scopes frame={frame} model={model} />
          <p class="actions">
            <button type="submit" class="button">
              {words.t('role.save')}
            </button>
            <a href="/account/roles">{words.t('role.back')}</a>
          </p>
        </Form>
      </section>
      {id !== null && !model.everything && <Remove frame={frame} id={id} people={people} />}
    </>,
    { wide: true, problem: problem !== null },
  )
}

function Scopes({ frame, model }: PartProps) {
  const { words } = frame
  if (model.everything) return <p>{words.t('role.everything')}</p>
  return (
    <fieldset class="listed">
      <legend>{words.t('role.scopes')}</legend>
      <p class="hint">{words.t(model.scopes.length === 0 ? 'role.scopes_none' : 'role.scopes_hint')}</p>
      {model.scopes.map(({ name, title, dangerous, checked }) => (
        <Checkbox
          id={`scope-${name}`}
          name={`scope.${name}`}
          label={title}
          {...(dangerous ? { hint: words.t('role.dangerous') } : {})}
          checked={checked}
          key={name}
        />
      ))}
    </fieldset>
  )
}

function Remove({ frame, id, people }: { readonly frame: Frame; readonly id: string; readonly people: number }) {
  const { words } = frame
  return (
    <section class="card stack" aria-labelledby="remove">
      <h2 id="remove">{words.t('role.remove')}</h2>
      <p>{words.t('role.remove_text', { count: people })}</p>
      <AreYouSure label={words.t('role.remove_button')} question={words.t('role.remove_sure')}>
        <Form frame={frame} action="/account/role/remove" bound={{ role: id }} class="actions">
          <button type="submit" class="button danger">
            {words.t('role.remove_yes')}
          </button>
        </Form>
      </AreYouSure>
    </section>
  )
}
