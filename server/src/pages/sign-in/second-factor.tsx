/** Page for a user who needs a second factor and has none: nothing else of the account is reachable until it is set up. */
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import { AddPasskey } from './add-passkey.tsx'

export type SecondFactorModel = {
  /** Where to continue afterwards. */
  readonly next: string
  /** JSON of PublicKeyCredentialCreationOptions. */
  readonly passkey: string
  readonly problem: null | 'passkey'
}

export function secondFactorPage(frame: Frame, { next, passkey, problem }: SecondFactorModel): string {
  const { words } = frame
  const wrong = problem && words.t(`security.problem_${problem}`)
  return page(
    frame,
    words.t('second_factor.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: null, text: wrong }] : []} />
      <header class="stack tight">
        <h1>{words.t('second_factor.title')}</h1>
        <p>{words.t('second_factor.text', { name: frame.account?.name ?? '' })}</p>
      </header>
      <section class="card stack" aria-labelledby="authenticator">
        <h2 id="authenticator">{words.t('security.authenticator')}</h2>
        <p>{words.t('security.authenticator_text')}</p>
        <div class="actions">
          <a class="button" href={`/security/authenticator?next=${encodeURIComponent(next)}`}>
            {words.t('security.add_authenticator')}
          </a>
        </div>
      </section>
      <section class="card stack" aria-labelledby="passkeys">
        <h2 id="passkeys">{words.t('security.passkeys')}</h2>
        <p>{words.t('security.passkeys_text')}</p>
        <AddPasskey frame={frame} options={passkey} next={next} />
      </section>
    </>,
    { problem: problem !== null, single: true },
  )
}
