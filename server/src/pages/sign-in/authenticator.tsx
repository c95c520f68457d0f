/** Set-up page for an authenticator app: QR code, the same secret as text, and a field for a first code as proof. */
import { encode } from 'uqr'
import { CopyButton } from '../ui/elements.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'

export type AuthenticatorModel = {
  /** Identifies the secret shown; bound to the form token. */
  readonly setup: string
  /** Base32, in groups. */
  readonly secret: string
  /** `otpauth://…` */
  readonly uri: string
  /** Where to continue afterwards, if the user came from a page that requires it; null: the security page. */
  readonly next: string | null
  readonly problem: null | 'wrong'
}

export function authenticatorPage(frame: Frame, { setup, secret, uri, next, problem }: AuthenticatorModel): string {
  const { words } = frame
  const wrong = problem && words.t('authenticator.problem_wrong')
  return page(
    frame,
    words.t('authenticator.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: 'code', text: wrong }] : []} />
      <section class="card stack">
        <h1>{words.t('authenticator.title')}</h1>
        <ol class="steps">
          <li>
            <div class="stack tight">
              <p>{words.t('authenticator.scan')}</p>
              <QrCode text={uri} label={words.t('authenticator.picture')} />
              <p>{words.t('authenticator.by_hand')}</p>
              <div class="copied">
                <bdi class="secret" dir="ltr">
                  {secret}
                </bdi>
                <CopyButton words={words} text={secret.replaceAll(' ', '')} />
              </div>
              <p>
                <a href={uri}>{words.t('authenticator.open')}</a>
              </p>
            </div>
          </li>
          <li>
            <Form
              frame={frame}
              action="/security/authenticator"
              bound={{ setup }}
              hidden={{ next: next ?? '' }}
              class="stack"
            >
              <Field
                id="code"
                label={words.t('authenticator.code')}
                hint={words.t('authenticator.code_hint')}
                problem={wrong}
                autocomplete="one-time-code"
                inputmode="numeric"
                code
              />
              <div class="actions">
                <button type="submit" class="button">
                  {words.t('authenticator.add')}
                </button>
                <a href={next ?? '/security'}>{words.t('authenticator.cancel')}</a>
              </div>
            </Form>
          </li>
        </ol>
      </section>
    </>,
    { problem: problem !== null, single: next !== null },
  )
}

/** Dark on white in both themes: some cameras cannot read inverted QR codes. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, data } = encode(text, { ecc: 'M', border: 4 })
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <path class="ground" d={`M0 0h${size}v${size}h-${size}z`} />
      <path d={path} />
    </svg>
  )
}
