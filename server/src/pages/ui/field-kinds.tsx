/** Fields other than one line of text: text areas, select, radio button. */
import type { ComponentChildren } from 'preact'
import { describedBy, FieldHead } from './field.tsx'

type CommonProps = {
  readonly id: string
  readonly name?: string
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
  /** Problem text shown at the field; null or absent: none. */
  readonly problem?: string | null
}

type TextAreaProps = CommonProps & { readonly value: string; readonly rows: number; readonly focus?: boolean }

/** Multi-line technical text: left to right in every language. */
export function TextArea(props: TextAreaProps) {
  const { id, name = id, problem = null, value, rows } = props
  const attributes = {
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    autofocus: props.focus,
    'aria-describedby': describedBy(props),
    'aria-invalid': problem === null ? undefined : 'true',
  }
  return (
    <div class="field">
      <FieldHead {...props} />
      <textarea id={id} name={name} class="technical" dir="ltr" rows={rows} {...(attributes as object)}>
        {value}
      </textarea>
    </div>
  )
}

type OwnWordsProps = CommonProps & { readonly value: string; readonly rows: number }

/** Multi-line prose for another person: direction follows the text. */
export function OwnWords(props: OwnWordsProps) {
  const { id, name = id, problem = null, value, rows } = props
  return (
    <div class="field">
      <FieldHead {...props} />
      <textarea
        id={id}
        name={name}
        class="prose"
        dir="auto"
        rows={rows}
        aria-describedby={describedBy(props)}
        aria-invalid={problem === null ? undefined : 'true'}
      >
        {value}
      </textarea>
    </div>
  )
}

type SelectProps = CommonProps & {
  readonly options: readonly { readonly value: string; readonly text: string }[]
  readonly value: string
  /** Displayed only, not submitted. */
  readonly disabled?: boolean
}

export function Select(props: SelectProps) {
  const { id, name = id, problem = null, options, value, disabled = false } = props
  return (
    <div class="field">
      <FieldHead {...props} />
      <select
        id={id}
        name={name}
        disabled={disabled}
        aria-describedby={describedBy(props)}
        aria-invalid={problem === null ? undefined : 'true'}
      >
        {options.map((option) => (
          <option value={option.value} selected={option.value === value} key={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </div>
  )
}

type RadioProps = {
  readonly name: string
  readonly value: string
  readonly label: ComponentChildren
  readonly hint: ComponentChildren
  readonly checked: boolean
}

/** One radio button of a group; `id` is `<name>-<value>`. */
export function Radio({ name, value, label, hint, checked }: RadioProps) {
  const id = `${name}-${value}`
  return (
    <div class="checkbox">
      <input id={id} name={name} value={value} type="radio" checked={checked} aria-describedby={`${id}-hint`} />
      <div>
        <label for={id}>{label}</label>
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      </div>
    </div>
  )
}
