/** Parties section of the consent pages: the application, its publisher and the signed-in user. */
import type { ComponentChildren } from 'preact'
import type { Publisher } from '../../core/applications/application.ts'
import { PublisherLine } from '../applications/publisher.tsx'
import { Avatar } from '../ui/avatar.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { initialOf } from '../ui/layout.tsx'
import { strong } from '../ui/strong.tsx'
import type { Words } from '../ui/words.ts'

type PartiesProps = {
  readonly frame: Frame
  readonly application: string
  readonly publisher: Publisher
  /** URL. */
  readonly logo: string | null
  /** Target of "Not you?"; null in a preview. */
  readonly change: { readonly action: string; readonly bound: Readonly<Record<string, string>> } | null
}

export function Parties({ frame, application, publisher, logo, change }: PartiesProps) {
  const { words, account, user } = frame
  const more = (chunks: ComponentChildren) => <span class="visually-hidden">{chunks}</span>
  const you = words.rich('consent.signed_in_as', { email: user?.email ?? '', b: strong, more })
  const notYou = words.rich('consent.not_you', { more })
  return (
    <header class="stack tight">
      <div class="pair" aria-hidden="true">
        <Avatar name={application} logo={logo} size={56} />
        <span class="line" />
        {account?.logo ? (
          <img src={account.logo} alt="" width="56" height="56" />
        ) : (
          <span class="initial">{initialOf(account?.name ?? '')}</span>
        )}
      </div>
      <h1>{words.rich('consent.heading', { application, name: account?.name ?? '', b: strong })}</h1>
      <p>
        <PublisherLine words={words} publisher={publisher} />
      </p>
      {change === null ? (
        <div class="chip">
          <span>{you}</span>
          <button type="button" class="plain" disabled>
            {notYou}
          </button>
        </div>
      ) : (
        <Form frame={frame} action={change.action} bound={change.bound} class="chip">
          <span>{you}</span>
          <button type="submit" class="plain">
            {notYou}
          </button>
        </Form>
      )}
    </header>
  )
}

type VerifiedHintProps = { readonly words: Words; readonly publisher: Publisher }

export function VerifiedHint({ words, publisher }: VerifiedHintProps) {
  return publisher.status === 'verified' ? <p class="hint">{words.t('consent.verified_hint')}</p> : null
}
