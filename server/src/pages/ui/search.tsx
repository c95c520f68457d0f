/** Search field and next-page link of long lists. A search changes nothing, so it is a GET form. */
import { Field } from './field.tsx'
import type { Words } from './words.ts'

type SearchProps = {
  readonly words: Words
  readonly action: string
  readonly label: string
  readonly hint: string
  /** The search text. */
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
  /** Cursor: the last item shown; null: no more. */
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
