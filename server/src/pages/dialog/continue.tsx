/** Page from the service's own host to that of the chosen account, which the browser follows by itself. */
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'

export function continuePage(frame: Frame, address: string): string {
  const title = frame.words.t('at_host.continue', { name: '', host: new URL(address).host })
  return page(
    frame,
    title,
    <section class="card stack">
      <h1>{title}</h1>
      <p class="actions">
        <a href={address} class="button block">
          {title}
        </a>
      </p>
    </section>,
  )
}
