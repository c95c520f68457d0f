/**
 * The only ways to write a form. One that changes something posts, works without a script, and carries what ties it to the
 * session it was shown in.
 */
import type { ComponentChildren } from 'preact'
import type { Frame } from './frame.ts'

type FormProps = {
  readonly frame: Frame
  readonly action: string
  /** Values that must come back exactly as they were shown; the form's token vouches for them. */
  readonly bound?: Readonly<Record<string, string>>
  /** Values that only come along. */
  readonly hidden?: Readonly<Record<string, string>>
  readonly class?: string
  /** For a form that sends a file. */
  readonly multipart?: boolean
  readonly children?: ComponentChildren
}

export function Form({ frame, action, bound = {}, hidden = {}, multipart = false, children, ...rest }: FormProps) {
  const carried = Object.entries({ ...hidden, ...bound })
  return (
    // What is wrong is said by the page that comes back: in our words, in the user's language, in one place.
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

/** For what only looks something up: it leads to an address that can be kept, and changes nothing, so it proves nothing. */
export function SearchForm({ action, children, ...rest }: SearchFormProps) {
  return (
    <form method="get" action={action} noValidate {...rest}>
      {children}
    </form>
  )
}
