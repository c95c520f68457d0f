/** Passkey, authenticator and recovery code sections of the security page. */
import { Day } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { AddPasskey } from './add-passkey.tsx'
import type { SecurityModel } from './security-model.ts'

export function PasskeysCard({ frame, model }: { readonly frame: Frame; readonly model: SecurityModel }) {
  const { words } = frame
  return (
    <section class="card stack" aria-labelledby="passkeys">
      <h2 id="passkeys">{words.t('security.passkeys')}</h2>
      <p>{words.t('security.passkeys_text')}</p>
      {model.passkeys.length > 0 && (
        <ul class="rows">
          {model.passkeys.map((passkey) => (
            <PasskeyRow frame={frame} passkey={passkey} key={passkey.id} />
          ))}
        </ul>
      )}
      <AddPasskey frame={frame} options={model.passkey} />
    </section>
  )
}

type PasskeyRowProps = { readonly frame: Frame; readonly passkey: SecurityModel['passkeys'][number] }

function PasskeyRow({ frame, passkey }: PasskeyRowProps) {
  const { words } = frame
  return (
    <li>
      <div class="stack tight">
        <h3>
          <bdi>{passkey.name}</bdi>
        </h3>
        <Facts>
          <Fact name={words.t('security.added')}>
            <Day words={words} ms={passkey.createdOn} />
          </Fact>
          <Fact name={words.t('security.last_used')}>
            {passkey.lastUsedOn === null ? words.t('security.never') : <Day words={words} ms={passkey.lastUsedOn} />}
          </Fact>
        </Facts>
      </div>
      <Form frame={frame} action="/security/passkeys/remove" bound={{ passkey: passkey.id }}>
        <button
          type="submit"
          class="button quiet"
          aria-label={words.t('security.remove_named', { name: passkey.name })}
        >
          {words.t('security.remove')}
        </button>
      </Form>
    </li>
  )
}

type AuthenticatorProps = { readonly frame: Frame; readonly authenticator: SecurityModel['authenticator'] }

export function AuthenticatorCard({ frame, authenticator }: AuthenticatorProps) {
  const { words } = frame
  return (
    <section class="card stack" aria-labelledby="authenticator">
      <h2 id="authenticator">{words.t('security.authenticator')}</h2>
      <p>{words.t('security.authenticator_text')}</p>
      {authenticator === null ? (
        <div class="actions">
          <a class="button quiet" href="/security/authenticator">
            {words.t('security.add_authenticator')}
          </a>
        </div>
      ) : (
        <>
          <Facts>
            <Fact name={words.t('security.added')}>
              <Day words={words} ms={authenticator.createdOn} />
            </Fact>
          </Facts>
          <Form frame={frame} action="/security/authenticator/remove" class="actions">
            <button type="submit" class="button quiet">
              {words.t('security.remove_authenticator')}
            </button>
          </Form>
        </>
      )}
    </section>
  )
}

export function RecoveryCodesCard({ frame, left }: { readonly frame: Frame; readonly left: number }) {
  const { words } = frame
  return (
    <section class="card stack" aria-labelledby="recovery-codes">
      <h2 id="recovery-codes">{words.t('security.recovery_codes')}</h2>
      <p>{words.t('security.recovery_codes_text')}</p>
      <p class="strong">{words.t('security.recovery_codes_left', { left })}</p>
      <Form frame={frame} action="/security/recovery-codes" class="stack tight">
        <p class="hint">{words.t('security.recovery_codes_hint')}</p>
        <div class="actions">
          <button type="submit" class="button quiet">
            {words.t('security.recovery_codes_create')}
          </button>
        </div>
      </Form>
    </section>
  )
}
