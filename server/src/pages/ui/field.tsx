/** Labelled input with hint and problem text, linked by ARIA attributes for screen readers. */
import type { ComponentChildren } from 'preact'

type FieldProps = {
  /** Also the form field name, unless `name` is given. */
  readonly id: string
  readonly name?: string
  /** Id of the form, for a field outside of it. */
  readonly form?: string
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
  /** Problem text shown at the field; null or absent: none. */
  readonly problem?: string | null
  readonly type?: 'text' | 'email' | 'password' | 'color' | 'file' | 'date'
  readonly value?: string
  readonly autocomplete?: string
  readonly inputmode?: 'numeric' | 'email'
  /** Fixed text shown after the input: the rest of an address. */
  readonly after?: string
  readonly focus?: boolean
  readonly size?: number
  readonly maxLength?: number
  readonly accept?: string
  /** Displayed only, not submitted. */
  readonly readOnly?: boolean
  /** Large, letter-spaced digits, for codes. */
  readonly code?: boolean
  /** Left to right in every language, for URLs. */
  readonly ltr?: boolean
  /** The label is the page's heading, for a page with one field. */
  readonly heading?: boolean
}

export function Field(props: FieldProps) {
  const { id, after } = props
  const described = describedBy(props)
  return (
    <div class="field">
      <FieldHead {...props} />
      {after === undefined ? (
        <Input {...props} described={described} />
      ) : (
        <div class="joined" dir="ltr">
          <Input {...props} described={described} />
          <span id={`${id}-after`}>{after}</span>
        </div>
      )}
    </div>
  )
}

type FieldHeadProps = Pick<FieldProps, 'id' | 'label' | 'hint' | 'problem' | 'heading'>

/** Label, hint and problem, above every kind of field. */
export function FieldHead({ id, label, hint, problem = null, heading }: FieldHeadProps) {
  const labelled = <label for={id}>{label}</label>
  return (
    <>
      {heading ? <h1>{labelled}</h1> : labelled}
      {hint !== undefined && (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {problem !== null && (
        <p class="wrong" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </>
  )
}

/** Ids of the texts about a field, for `aria-describedby`. */
export function describedBy({ id, hint, after, problem = null }: FieldHeadProps & Pick<FieldProps, 'after'>) {
  const ids = [
    hint !== undefined && `${id}-hint`,
    after !== undefined && `${id}-after`,
    problem !== null && `${id}-problem`,
  ]
  return ids.filter(Boolean).join(' ') || undefined
}

function Input(props: FieldProps & { readonly described: string | undefined }) {
  const { id, type = 'text' } = props
  const attributes = {
    id,
    type,
    name: props.readOnly ? undefined : (props.name ?? id),
    form: props.form,
    class: props.code ? 'code' : undefined,
    value: props.value,
    autocomplete: props.autocomplete,
    inputmode: props.inputmode,
    size: props.size,
    maxlength: props.maxLength,
    accept: props.accept,
    readonly: props.readOnly,
    'aria-describedby': props.described,
    'aria-invalid': props.problem == null ? undefined : 'true',
    autofocus: props.focus,
    ...(type === 'text' || type === 'email' ? { autocapitalize: 'off', spellcheck: 'false' } : {}),
    ...(props.ltr ? { dir: 'ltr' } : {}),
    ...(props.code ? { dir: 'ltr', enterkeyhint: 'go' } : {}),
  }
  // Cast to object: Preact types the allowed attributes per literal `type`.
  return <input {...(attributes as object)} />
}

type CheckboxProps = {
  readonly id: string
  readonly name?: string
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
  readonly checked?: boolean
}

/** Submitted as `on`, or not at all. */
export function Checkbox({ id, name, label, hint, checked = false }: CheckboxProps) {
  return (
    <div class="checkbox">
      <input
        id={id}
        name={name ?? id}
        type="checkbox"
        checked={checked}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
      />
      <div>
        <label for={id}>{label}</label>
        {hint !== undefined && (
          <div class="hint" id={`${id}-hint`}>
            {hint}
          </div>
        )}
      </div>
    </div>
  )
}
