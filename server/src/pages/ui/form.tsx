/**
 * Form components, the only ones used. A form that changes state is a POST, works without a script, and carries a token
 * that binds it to the session in which it was shown.
 */
import type { ComponentChildren } from 'preact'
import type { Frame } from './frame.ts'

type FormProps = {
  readonly frame: Frame
  /** For fields and buttons outside of it. */
  readonly id?: string
  readonly action: string
  /** Values that must come back unchanged; covered by the form's token. */
  readonly bound?: Readonly<Record<string, string>>
  /** Values that the token does not cover. */
  readonly hidden?: Readonly<Record<string, string>>
  readonly class?: string
  /** For a file upload. */
  readonly multipart?: boolean
  readonly children?: ComponentChildren
}

export function Form({ frame, action, bound = {}, hidden = {}, multipart = false, children, ...rest }: FormProps) {
  const carried = Object.entries({ ...hidden, ...bound })
  return (
    // No browser validation: the returned page states the problems, in our words, in the user's language, in one place.
    <form method="post" action={action} noValidate {...(multipart ? { enctype: 'multipart/form-data' } : {})} {...rest}>
      {carried.map(([name, value]) => (
        <input type="hidden" name={name} value={value} key={name} />
      ))}
      {frame.user && <input type="hidden" name="token" value={frame.sign(action, bound)} />}
      {children}
    </form>
  )
}

type SearchFormProps = { readonly action: string; readonly class?: string; readonly children: ComponentChildren }

/** GET form for searches: its URL can be bookmarked, and it changes nothing, so it needs no token. */
export function SearchForm({ action, children, ...rest }: SearchFormProps) {
  return (
    <form method="get" action={action} noValidate {...rest}>
      {children}
    </form>
  )
}
