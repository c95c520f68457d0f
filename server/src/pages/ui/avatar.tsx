/** How an application is drawn beside its name: its logo where it has one to show, otherwise its first letter. */
import { initialOf } from './layout.tsx'

type AvatarProps = {
  readonly name: string
  /** An address. */
  readonly logo: string | null
  /** In pixels; the stylesheet has the last word. */
  readonly size?: number
}

/** The name is beside it, so there is nothing to read aloud. */
export function Avatar({ name, logo, size = 40 }: AvatarProps) {
  if (logo !== null) return <img class="avatar" src={logo} alt="" width={size} height={size} />
  return (
    <span class="initial asking" aria-hidden="true">
      {initialOf(name)}
    </span>
  )
}
