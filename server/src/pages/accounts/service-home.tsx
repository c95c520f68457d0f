/** Home page of the service's own host, which belongs to no account: where a person who knows no other address goes on. */
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'

export function serviceHomePage(frame: Frame): string {
  const { words } = frame
  return page(
    frame,
    words.t('home.title'),
    <>
      <section class="card stack">
        <h1>{words.t('home.heading')}</h1>
        <p>{words.t('home.text')}</p>
        <a class="button big block" href="/activate">
          {words.t('home.enter_code')}
        </a>
      </section>
      <p>
        <a href="/reference">{words.t('service_home.reference')}</a>
      </p>
    </>,
    { single: true },
  )
}
