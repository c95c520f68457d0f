/** Looking for something in a long list, a page at a time. A search changes nothing, so it is the one form that is no POST. */
import { Field } from './field.tsx'
import type { Words } from './words.ts'

type SearchProps = {
  readonly words: Words
  readonly action: string
  readonly label: string
  readonly hint: string
  /** What was looked for. */
  readonly value: string
}

export function Search({ words, action, label, hint, value }: SearchProps) {
  return (
    <search>
      <form method="get" action={action} class="search">
        <Field id="q" label={label} hint={hint} value={value} autocomplete="off" maxLength={100} />
        <button type="submit" class="button">
          {words.t('operator.search')}
        </button>
      </form>
    </search>
  )
}

type MoreProps = {
  readonly words: Words
  readonly action: string
  readonly value: string
  /** The last that is shown; null: there are no more. */
  readonly after: string | null
}

export function More({ words, action, value, after }: MoreProps) {
  if (after === null) return null
  return (
    <p>
      <a class="target" href={`${action}?${new URLSearchParams({ q: value, after })}`}>
        {words.t('operator.more')}
      </a>
    </p>
  )
}
