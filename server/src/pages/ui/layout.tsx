/**
 * Layout of every page: document, account, signed-in user, navigation, language.
 *
 * `pages/` turns a model into HTML and nothing else: no request, no store, no clock.
 * A page is `(frame, model) => string`. Everything works without a script; assets/latchkey.js only improves it. The
 * content security policy admits only scripts and styles with the nonce of the response, so no style attributes and no
 * inline event handlers.
 */
import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { accentFor } from './accent.ts'
import { icon, script, stylesheet } from './assets.ts'
import { Form } from './form.tsx'
import type { Frame } from './frame.ts'
import { Notice } from './notice.tsx'
import type { MessageKey, Words } from './words.ts'

export type PageOptions = {
  /** The submitted input was rejected. The title says so, too, because screen readers read it first. */
  readonly problem?: boolean
  /** A page with one task: no navigation. */
  readonly single?: boolean
  /** A decision: little around it, and on a phone no card. */
  readonly compact?: boolean
  /** For lists: uses more of the window's width. */
  readonly wide?: boolean
  /** The page answers a form and cannot be shown again: no language choice, which would lose it. */
  readonly once?: boolean
  /** Path of the navigation entry that the page belongs to, where that does not follow from its own path. */
  readonly within?: string
}

export function page(frame: Frame, title: string, children: ComponentChildren, options: PageOptions = {}): string {
  const { words, account } = frame
  const named = words.t('layout.title', { title, name: account?.name ?? frame.service.name })
  const compact = frame.dialog || options.compact
  const accent = accentFor(account?.colour ?? null)
  const html = (
    <html lang={words.language} dir={words.direction}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{options.problem ? words.t('layout.title_problem', { title: named }) : named}</title>
        <link rel="icon" href={icon.path} type="image/svg+xml" />
        <link rel="stylesheet" href={stylesheet.path} nonce={frame.nonce} />
        {accent && <style nonce={frame.nonce}>{`:root{--accent:light-dark(${accent.light},${accent.dark})}`}</style>}
        <script type="module" src={script.path} nonce={frame.nonce} />
      </head>
      <body class={compact ? 'compact' : undefined}>
        <a class="skip" href="#main">
          {words.t('layout.skip')}
        </a>
        <Header frame={frame} compact={compact} />
        {frame.user && !options.single && !frame.dialog && <Navigation frame={frame} parent={options.within} />}
        <main id="main" tabIndex={-1} class={options.wide ? 'wide' : undefined}>
          {!options.single && <SecondFactorReminder frame={frame} />}
          {children}
        </main>
        <Footer frame={frame} compact={options.compact} languages={!options.once} />
      </body>
    </html>
  )
  return `<!doctype html>${renderToString(html)}`
}

/** Shown in the days that a user has to set up a second factor. */
function SecondFactorReminder({ frame: { words, user, dialog } }: { readonly frame: Frame }) {
  const until = user?.secondFactorBy ?? null
  if (until === null || dialog) return null
  return (
    <Notice kind="info">
      <p>
        {words.rich('layout.second_factor_by', {
          when: words.moment(until),
          a: (chunks) => <a href="/security">{chunks}</a>,
        })}
      </p>
    </Notice>
  )
}

function Header({ frame, compact }: { readonly frame: Frame; readonly compact: boolean | undefined }) {
  const { words, user, service } = frame
  return (
    <header class="top">
      <div class="whose">
        {service.logo && <img class="service-logo" src={service.logo.path} alt={service.name} />}
        <Whose frame={frame} />
      </div>
      {user && !compact && (
        <Form frame={frame} action="/sign-out" class="who">
          <span class="visually-hidden">{words.t('layout.signed_in_as')}</span>
          <bdi class="email">{user.email}</bdi>
          <button type="submit" class="plain">
            {words.t('layout.sign_out')}
          </button>
        </Form>
      )}
    </header>
  )
}

/** Name and logo of the account, or the product's name without an account. */
function Whose({ frame: { service, account, dialog } }: { readonly frame: Frame }) {
  if (!account) return <span class="account">{service.name}</span>
  const known = (
    <>
      {account.logo ? (
        <img src={account.logo} alt="" width="36" height="36" />
      ) : (
        <span class="initial" aria-hidden="true">
          {initialOf(account.name)}
        </span>
      )}
      <bdi>{account.name}</bdi>
    </>
  )
  return dialog ? (
    <span class="account">{known}</span>
  ) : (
    <a class="account" href="/">
      {known}
    </a>
  )
}

/** The first grapheme cluster, which may be several code points. */
export function initialOf(name: string): string {
  const [first] = new Intl.Segmenter().segment(name.trim())
  return (first?.segment ?? '').toLocaleUpperCase()
}

type Place = { readonly href: string; readonly key: MessageKey }

const ownPlaces: readonly Place[] = [
  { href: '/', key: 'layout.home' },
  { href: '/applications', key: 'layout.applications' },
  { href: '/security', key: 'layout.security' },
]

type AccountPlace = Place & { readonly about: MessageKey; readonly aboutAtHost?: MessageKey }

const PROVIDER: AccountPlace = { href: '/account/provider', key: 'layout.provider', about: 'home.provider_text' }

const KEYS: AccountPlace = { href: '/account/keys', key: 'layout.keys', about: 'home.keys_text' }

const accountPages: readonly AccountPlace[] = [
  { href: '/account/applications', key: 'layout.account_applications', about: 'home.account_applications_text' },
  { href: '/account/policy', key: 'layout.policy', about: 'home.policy_text', aboutAtHost: 'home.policy_text_host' },
  PROVIDER,
  { href: '/account/people', key: 'layout.people', about: 'home.people_text', aboutAtHost: 'home.people_text_host' },
  { href: '/account/roles', key: 'layout.roles', about: 'home.roles_text' },
  { href: '/account/branding', key: 'layout.branding', about: 'home.branding_text' },
  KEYS,
  { href: '/account/audit', key: 'layout.audit', about: 'home.audit_text' },
  { href: '/developer', key: 'layout.developer', about: 'home.developer_text' },
]

/**
 * Administrators' pages, with a description of each. Neither the operators nor a host service have a provider, and no
 * management key reaches the operators' account.
 */
export function accountPlaces({ user, signInAt }: Frame): readonly AccountPlace[] {
  if (user?.operator) return accountPages.filter((each) => each !== PROVIDER && each !== KEYS)
  return signInAt !== null ? accountPages.filter((each) => each !== PROVIDER) : accountPages
}

/** Operators' pages, with a description of each. */
export const operatorPlaces: readonly (Place & { readonly about: MessageKey })[] = [
  { href: '/operator', key: 'operator.nav_overview', about: 'operator.about_overview' },
  { href: '/operator/reviews', key: 'operator.nav_reviews', about: 'operator.about_reviews' },
  { href: '/operator/applications', key: 'operator.nav_applications', about: 'operator.about_applications' },
  { href: '/operator/accounts', key: 'operator.nav_accounts', about: 'operator.about_accounts' },
  { href: '/operator/operators', key: 'operator.nav_operators', about: 'operator.about_operators' },
  { href: '/operator/scopes', key: 'operator.nav_scopes', about: 'operator.about_scopes' },
  { href: '/operator/keys', key: 'operator.nav_keys', about: 'operator.about_keys' },
  { href: '/operator/audit', key: 'operator.nav_audit', about: 'operator.about_audit' },
]

function Navigation({ frame, parent }: { readonly frame: Frame; readonly parent: string | undefined }) {
  const { words, user } = frame
  const path = frame.path.split('?')[0] ?? '/'
  const within = /^\/(account\/|developer(\/|$))/.test(path)
  const operating = /^\/operator(\/|$)/.test(path)
  return (
    <div class="navigation">
      <nav aria-label={words.t('layout.navigation')}>
        <ul>
          {ownPlaces.map((place) => (
            <PlaceLink words={words} place={place} path={path} parent={parent} />
          ))}
          {user?.administrator && (
            <li>
              <a href="/account/applications" aria-current={within ? 'true' : undefined}>
                {words.t('layout.account')}
              </a>
            </li>
          )}
          {user?.operator && (
            <li>
              <a href="/operator" aria-current={operating ? 'true' : undefined}>
                {words.t('operator.nav')}
              </a>
            </li>
          )}
        </ul>
      </nav>
      {user?.operator && operating && (
        <>
          <Menu words={words} label="operator.nav" places={operatorPlaces} path={path} parent={parent} />
          <Find words={words} />
        </>
      )}
      {user?.administrator && within && (
        <Menu
          words={words}
          label="layout.account_navigation"
          places={accountPlaces(frame)}
          path={path}
          parent={parent}
        />
      )}
    </div>
  )
}

/** Search field of the operators' console: one for everything that has a name or an id. */
function Find({ words }: { readonly words: Words }) {
  return (
    <search>
      <form method="get" action="/operator/search" class="find-all">
        <label for="find" class="visually-hidden">
          {words.t('operator.find')}
        </label>
        <input
          id="find"
          name="q"
          autocomplete="off"
          maxLength={200}
          placeholder={words.t('operator.find_placeholder')}
        />
        <button type="submit" class="button quiet">
          {words.t('operator.search')}
        </button>
      </form>
    </search>
  )
}

type MenuProps = {
  readonly words: Words
  readonly label: MessageKey
  readonly places: readonly Place[]
  readonly path: string
  readonly parent: string | undefined
}

/** The pages of a console. On a phone it is closed, and names the current page; the stylesheet opens it elsewhere. */
function Menu({ words, label, places, path, parent }: MenuProps) {
  const current = places.find((place) => ariaCurrent(place, path, parent) !== undefined)
  return (
    <nav aria-label={words.t(label)}>
      <details>
        <summary>
          <span class="soft">{words.t(label)}</span> {current && <strong>{words.t(current.key)}</strong>}
        </summary>
        <ul>
          {places.map((place) => (
            <PlaceLink words={words} place={place} path={path} parent={parent} />
          ))}
        </ul>
      </details>
    </nav>
  )
}

/** Subpages and the navigation entry that is marked for them. */
const WITHIN: Readonly<Record<string, string>> = {
  '/account/person': '/account/people',
  '/account/role': '/account/roles',
  '/operator/account': '/operator/accounts',
  '/operator/person': '/operator/accounts',
}

type PlaceLinkProps = {
  readonly words: Words
  readonly place: Place
  readonly path: string
  readonly parent: string | undefined
}

/** Value of `aria-current`: `page` for the page itself, `true` for the entry that it belongs to. */
function ariaCurrent({ href }: Place, path: string, parent: string | undefined): 'page' | 'true' | undefined {
  if (path === href) return 'page'
  const isWithin =
    (parent ?? WITHIN[path]) === href || (!['/', '/operator'].includes(href) && path.startsWith(`${href}/`))
  return isWithin ? 'true' : undefined
}

function PlaceLink({ words, place, path, parent }: PlaceLinkProps) {
  return (
    <li>
      <a href={place.href} aria-current={ariaCurrent(place, path, parent)}>
        {words.t(place.key)}
      </a>
    </li>
  )
}

type FooterProps = {
  readonly frame: Frame
  readonly compact: boolean | undefined
  /** A language change reloads the page, so it is false where that is impossible. */
  readonly languages: boolean
}

function Footer({ frame, compact, languages: offered }: FooterProps) {
  const { words, account, service, dialog } = frame
  const hasHelp = service.links.some(({ kind }) => kind === 'help')
  return (
    <footer class="bottom">
      {account && !dialog && !compact && !hasHelp && <p>{words.t('layout.help', { name: account.name })}</p>}
      <ServiceLinks frame={frame} />
      {offered && (compact ? <FoldedLanguages frame={frame} /> : <Languages frame={frame} />)}
    </footer>
  )
}

/** On a page with one task only the current language is to be read. */
function FoldedLanguages({ frame }: { readonly frame: Frame }) {
  const { words } = frame
  const current = words.offered.find(({ code }) => code === words.language)
  return (
    <details class="languages-menu">
      <summary class="current-language">
        <span class="visually-hidden">{words.t('layout.language')}</span> {current?.name}
      </summary>
      <Languages frame={frame} />
    </details>
  )
}

/** Links to help, privacy and terms. They open a new tab, so that a decision in progress is not lost. */
function ServiceLinks({ frame: { words, service } }: { readonly frame: Frame }) {
  if (service.links.length === 0) return null
  return (
    <ul class="links">
      {service.links.map(({ kind, href }) => (
        <li key={kind}>
          <a href={href} target="_blank" rel="noopener noreferrer">
            {words.t(`layout.link_${kind}`)}
          </a>
        </li>
      ))}
    </ul>
  )
}

function Languages({ frame }: { readonly frame: Frame }) {
  const { words } = frame
  return (
    <Form frame={frame} action="/language" hidden={{ next: frame.path }} class="languages">
      <fieldset>
        <legend class="visually-hidden">{words.t('layout.language')}</legend>
        {words.offered.map(({ code, name }) => (
          <button
            type="submit"
            class="plain"
            name="language"
            value={code}
            lang={code}
            aria-current={code === words.language ? 'true' : undefined}
            key={code}
          >
            {name}
          </button>
        ))}
      </fieldset>
    </Form>
  )
}
