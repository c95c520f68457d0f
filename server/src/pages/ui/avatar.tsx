/** Picture of an application beside its name: its logo, or the first letter of its name. */
import { initialOf } from './layout.tsx'

type AvatarProps = {
  readonly name: string
  /** URL. */
  readonly logo: string | null
  /** In pixels; the stylesheet may override it. */
  readonly size?: number
}

/** Decorative for screen readers: the name is beside it. */
export function Avatar({ name, logo, size = 40 }: AvatarProps) {
  if (logo !== null) return <img class="avatar" src={logo} alt="" width={size} height={size} />
  return (
    <span class="initial asking" aria-hidden="true">
      {initialOf(name)}
    </span>
  )
}
