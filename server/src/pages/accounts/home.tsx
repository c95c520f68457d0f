/** Home page after sign-in: the main action as one big button, and links to the other pages. */
import type { ComponentChildren } from 'preact'
import type { AccountAttention } from '../../core/accounts/attention.ts'
import type { Frame } from '../ui/frame.ts'
import { accountPlaces, operatorPlaces, page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'
import { AccountAttentionCard } from './attention.tsx'

export type HomeModel = {
  /** Number of connected applications. */
  readonly connected: number
  /** Null for users who are not administrators. */
  readonly attention: AccountAttention | null
  readonly notice: null | 'welcome'
}

export function homePage(frame: Frame, { connected, attention, notice }: HomeModel): string {
  const { words } = frame
  const name = frame.account?.name ?? ''
  return page(
    frame,
    words.t('home.title'),
    <>
      {notice && <Notice kind="success">{words.t(`home.notice_${notice}`, { name })}</Notice>}
      <section class="card stack">
        <h1>{words.t('home.heading')}</h1>
        <p>{words.t('home.text', { name })}</p>
        <a class="button big block" href="/connect/code">
          {words.t('home.enter_code')}
        </a>
      </section>
      {attention && <AccountAttentionCard words={words} attention={attention} />}
      <section class="stack tight" aria-labelledby="yours">
        <h2 id="yours">{words.t('home.yours')}</h2>
        <ul class="routes">
          <Route href="/applications" title={words.t('home.applications')}>
            {words.t('home.applications_text', { connected })}
          </Route>
          <Route href="/security" title={words.t('home.security')}>
            {words.t(
              (frame.user?.signsInAt ?? frame.signInAt) === null ? 'home.security_text' : 'home.security_text_host',
            )}
          </Route>
        </ul>
      </section>
      {frame.user?.operator && (
        <section class="stack tight" aria-labelledby="operator">
          <h2 id="operator">{words.t('operator.nav')}</h2>
          <ul class="routes">
            {operatorPlaces.map(({ href, key, about }) => (
              <Route href={href} title={words.t(key)} key={href}>
                {words.t(about)}
              </Route>
            ))}
          </ul>
        </section>
      )}
      {frame.user?.administrator && (
        <section class="stack tight" aria-labelledby="account">
          <h2 id="account">{words.t('home.account', { name })}</h2>
          <ul class="routes">
            {accountPlaces(frame).map(({ href, key, about, aboutAtHost = about }) => (
              <Route href={href} title={words.t(key)} key={href}>
                {words.t(frame.signInAt === null ? about : aboutAtHost)}
              </Route>
            ))}
          </ul>
        </section>
      )}
    </>,
  )
}

type RouteProps = { readonly href: string; readonly title: string; readonly children: ComponentChildren }

function Route({ href, title, children }: RouteProps) {
  return (
    <li>
      <a href={href}>{title}</a>
      <p class="soft">{children}</p>
    </li>
  )
}
