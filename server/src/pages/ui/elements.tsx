/**
 * The custom elements of assets/latchkey.js as components, and times. What is inside an element is what is seen without a
 * script; texts that only the script shows come along as attributes, in the reader's language.
 */
import { type ComponentChildren, h } from 'preact'
import { Form } from './form.tsx'
import type { Frame } from './frame.ts'
import type { Words } from './words.ts'

type Children = { readonly children: ComponentChildren }

/** Around the input for a code: groups the digits while they are typed. */
export function CodeField({ children }: Children) {
  return h('code-field', null, children)
}

/** Two answers that a pointer cannot press before their question could be read. */
export function SteadyAnswers({ children }: { readonly children: ComponentChildren }) {
  return h('steady-answers', { class: 'choice' }, children)
}

/** Around a list of links: with one of them in focus, j and k go on to the next and back. */
export function KeyList({ children }: Children) {
  return h('key-list', null, children)
}

/** A day. Not rewritten for where the browser is: a day that we keep as a day has no other. */
export function Day({ words, ms }: { readonly words: Words; readonly ms: number }) {
  return <time dateTime={new Date(ms).toISOString().slice(0, 10)}>{words.date(ms)}</time>
}

/** A point in time, rewritten for where the browser is. */
export function Moment({ words, ms }: { readonly words: Words; readonly ms: number }) {
  return h('local-time', null, <time dateTime={new Date(ms).toISOString()}>{words.moment(ms)}</time>)
}

type CopyProps = { readonly words: Words } & (
  | { readonly text: string }
  /** The id of the element whose text it copies: what must not be on a page twice is not. */
  | { readonly from: string }
)

/** Copies a text; not there without a script. */
export function CopyButton({ words, ...what }: CopyProps) {
  return h(
    'copy-button',
    { hidden: true, ...what, copied: words.t('elements.copied') } as object,
    <button type="button" class="button quiet">
      {words.t('elements.copy')}
    </button>,
    <span role="status" />,
  )
}

/** How long the code on this page still works. `remaining` in milliseconds. */
export function ExpiryNotice({ words, remaining }: { readonly words: Words; readonly remaining: number }) {
  return h(
    'expiry-notice',
    {
      remaining,
      until: words.t('elements.valid_until', { time: '[time]' }),
      'two-minutes': words.t('elements.two_minutes'),
      'thirty-seconds': words.t('elements.thirty_seconds'),
      over: words.t('elements.over'),
    } as object,
    <p>{words.t('elements.valid_for', { minutes: Math.max(1, Math.floor(remaining / 60_000)) })}</p>,
    <p role="status" />,
  )
}

type PasskeyProps = {
  readonly frame: Frame
  readonly mode: 'sign-in' | 'register'
  readonly action: string
  /** JSON of the options for `navigator.credentials`. */
  readonly options: string
  readonly hidden?: Readonly<Record<string, string>>
  readonly label: string
  /** What comes before the button, within the same form. */
  readonly children?: ComponentChildren
}

/** A form of its own whose `answer` the script fills in; not there where the browser knows no passkeys. */
export function PasskeyForm({ frame, mode, action, options, hidden = {}, label, children }: PasskeyProps) {
  return h(
    'passkey-button',
    { hidden: true, mode, options, failed: frame.words.t('elements.passkey_failed') } as object,
    <Form frame={frame} action={action} hidden={{ ...hidden, answer: '' }} class="stack">
      {children}
      <button type="submit" class={`button quiet ${mode === 'sign-in' ? 'block' : 'begin'}`}>
        {label}
      </button>
      <p role="status" class="hint" />
    </Form>,
  )
}
