/** Form with which a signed-in user adds a passkey. */
import { PasskeyForm } from '../ui/elements.tsx'
import { Field } from '../ui/field.tsx'
import type { Frame } from '../ui/frame.ts'

type AddPasskeyProps = {
  readonly frame: Frame
  /** JSON of PublicKeyCredentialCreationOptions. */
  readonly options: string
  /** Where to continue afterwards; by default the security page. */
  readonly next?: string
}

export function AddPasskey({ frame, options, next }: AddPasskeyProps) {
  const { words } = frame
  return (
    <>
      <PasskeyForm
        frame={frame}
        mode="register"
        action="/security/passkeys"
        options={options}
        hidden={next === undefined ? {} : { next }}
        label={words.t('security.add_passkey')}
      >
        <Field
          id="passkey-name"
          name="name"
          label={words.t('security.passkey_name')}
          hint={words.t('security.passkey_name_hint')}
          autocomplete="off"
          maxLength={100}
        />
      </PasskeyForm>
      <noscript>
        <p class="hint">{words.t('security.passkey_script')}</p>
      </noscript>
    </>
  )
}
