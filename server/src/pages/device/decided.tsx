/** Result page of a decision: granted, rejected, reported, or no longer open. */

import { DeliveryNotice } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { Icon } from '../ui/icon.tsx'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'

export type DecidedModel = {
  /**
   * `closed`: expired, used, or never claimed by this user; one text for all. `entered_elsewhere`: closed because
   * another account entered the code, too. `moved`: the user went on in another of their accounts. `taken_over`: a colleague
   * goes on instead.
   */
  readonly outcome: 'granted' | 'rejected' | 'reported' | 'entered_elsewhere' | 'moved' | 'taken_over' | 'closed'
  readonly application: string | null
  /** Another user of the account entered the same code before the decision. */
  readonly shared?: boolean
  /** Granted, and the device has received its credentials. */
  readonly connected?: boolean
  /** Granted: where the script asks whether the device is connected by now. */
  readonly deliveryAddress?: string
}

export function decidedPage(frame: Frame, model: DecidedModel): string {
  const { outcome, application, shared = false, connected = false, deliveryAddress } = model
  const { words } = frame
  const named = { application: application ?? words.t('decided.the_application'), b: strong }
  const decided = outcome === 'granted' || outcome === 'rejected' || outcome === 'reported'
  const text = connected ? words.t('decided.connected') : words.rich(`decided.${outcome}_text`, named)
  return page(
    frame,
    words.t(`decided.${outcome}`),
    <section class="card stack">
      <div class="headline">
        <span class={`sign ${outcome}`}>
          <Icon name={outcome === 'granted' ? 'check' : 'minus'} />
        </span>
        <h1>{words.t(`decided.${outcome}`)}</h1>
      </div>
      {deliveryAddress === undefined ? (
        <p class="lead">{text}</p>
      ) : (
        <DeliveryNotice words={words} address={deliveryAddress}>
          {text}
        </DeliveryNotice>
      )}
      <p class="soft">
        {words.t(outcome === 'granted' && !frame.mail ? 'decided.granted_remove' : `decided.${outcome}_what`)}
      </p>
      {shared && (
        <Notice kind="warning" title={words.t('decided.shared')}>
          <p>{words.t(outcome === 'granted' ? 'decided.shared_granted' : 'decided.shared_refused')}</p>
        </Notice>
      )}
      <div class="actions">
        <a href={decided ? '/applications' : '/connect/code'}>
          {words.t(decided ? 'decided.applications' : 'decided.another_code')}
        </a>
      </div>
    </section>,
  )
}
