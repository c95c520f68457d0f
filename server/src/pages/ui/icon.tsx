/** Decorative icons beside text. Never used without text, so they are hidden from screen readers. */

const DRAWINGS = {
  check: 'M5 12.5 10 17.5 19 7',
  minus: 'M6 12h12',
  warning: 'M12 4 2.8 20h18.4zM12 10v4m0 3v.01',
  shield: 'M12 3 5 6v5c0 4.5 3 8 7 10 4-2 7-5.5 7-10V6zM9 12l2 2 4-4',
  unknown: 'M12 3 5 6v5c0 4.5 3 8 7 10 4-2 7-5.5 7-10V6zM12 8v5m0 3v.01',
} as const

export type IconName = keyof typeof DRAWINGS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class={`icon ${name}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={DRAWINGS[name]} />
    </svg>
  )
}
