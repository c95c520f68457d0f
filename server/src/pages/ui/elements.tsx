/**
 * Components for the custom elements of assets/latchkey.js, and for times. Their children are what is seen without a
 * script; texts that only the script shows are attributes, in the reader's language.
 */
import { type ComponentChildren, h } from 'preact'
import { MAX_PICTURE_BYTES, MAX_SIDE_PIXELS } from '../../core/picture.ts'
import { Form } from './form.tsx'
import type { Frame } from './frame.ts'
import type { Words } from './words.ts'

type Children = { readonly children: ComponentChildren }

/** Wraps the input for a code: groups the digits during typing. */
export function CodeField({ children }: Children) {
  return h('code-field', null, children)
}

/** Wraps the input for a picture: what is not a PNG becomes one. Half the bytes, as the service encodes it anew. */
export function PictureField({ children }: Children) {
  return h('picture-field', { side: MAX_SIDE_PIXELS, bytes: MAX_PICTURE_BYTES / 2 } as object, children)
}

/** Two answers that ignore the pointer until the user could have read the question. */
export function SteadyAnswers({ children }: { readonly children: ComponentChildren }) {
  return h('steady-answers', { class: 'choice' }, children)
}

/** Wraps a list of links: with one in focus, j and k move to the next and the previous one. */
export function KeyList({ children }: Children) {
  return h('key-list', null, children)
}

/** A date. Not converted to the browser's time zone: it is stored as a date, without a time. */
export function Day({ words, ms }: { readonly words: Words; readonly ms: number }) {
  return <time dateTime={new Date(ms).toISOString().slice(0, 10)}>{words.date(ms)}</time>
}

/** A point in time; the script converts it to the browser's time zone. */
export function Moment({ words, ms }: { readonly words: Words; readonly ms: number }) {
  return h('local-time', null, <time dateTime={new Date(ms).toISOString()}>{words.moment(ms)}</time>)
}

type CopyProps = { readonly words: Words } & (
  | { readonly text: string }
  /** Id of the element whose text is copied, for text that must not be on the page twice. */
  | { readonly from: string }
)

/** Copies a text; hidden without a script. */
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

/** Remaining lifetime of the code on this page. `remaining` in milliseconds. */
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

type DeliveryProps = Children & { readonly words: Words; readonly address: string }

/** A sentence that the script replaces when the device is connected. `address`: where it asks. */
export function DeliveryNotice({ words, address, children }: DeliveryProps) {
  return h(
    'delivery-notice',
    { address, connected: words.t('decided.connected') } as object,
    <p class="lead" role="status">
      {children}
    </p>,
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
  /** Its button is what the page is for. */
  readonly main?: boolean
  /** Content before the button, in the same form. */
  readonly children?: ComponentChildren
}

/** Separate form whose `answer` the script fills in; hidden where the browser does not support passkeys. */
export function PasskeyForm({ frame, mode, action, options, hidden = {}, label, main, children }: PasskeyProps) {
  return h(
    'passkey-button',
    { hidden: true, mode, options, failed: frame.words.t('elements.passkey_failed') } as object,
    <Form frame={frame} action={action} hidden={{ ...hidden, answer: '' }} class="stack">
      {children}
      <button
        type="submit"
        class={main ? 'button big block' : `button quiet ${mode === 'sign-in' ? 'block' : 'begin'}`}
      >
        {label}
      </button>
      <p role="status" class="hint" />
    </Form>,
  )
}
